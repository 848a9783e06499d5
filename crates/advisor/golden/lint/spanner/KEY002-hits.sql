CREATE TABLE tasks (done BOOL NOT NULL, owner STRING(40) NOT NULL) PRIMARY KEY (done, owner);
CREATE TABLE parcels (status STRING(40) NOT NULL, parcel INT64 NOT NULL) PRIMARY KEY (status, parcel);
