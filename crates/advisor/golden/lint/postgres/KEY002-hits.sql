CREATE TABLE tasks (done boolean NOT NULL, owner varchar(40) NOT NULL, PRIMARY KEY (done, owner));
CREATE TABLE parcels (status varchar(40) NOT NULL, parcel bigint NOT NULL, PRIMARY KEY (status, parcel));
