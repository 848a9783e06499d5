CREATE TABLE tasks (done BOOLEAN NOT NULL, owner VARCHAR(40) NOT NULL, PRIMARY KEY (done, owner));
CREATE TABLE parcels (status VARCHAR(40) NOT NULL, parcel BIGINT NOT NULL, PRIMARY KEY (status, parcel));
CREATE TABLE boats (`rig` ENUM('sloop','ketch','yawl') NOT NULL, name VARCHAR(40) NOT NULL, PRIMARY KEY (`rig`, name));
