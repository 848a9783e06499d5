CREATE TABLE users (name VARCHAR(40) PRIMARY KEY, email VARCHAR(40) UNIQUE);
CREATE TABLE seats (place VARCHAR(40) PRIMARY KEY, hall VARCHAR(40), row_name VARCHAR(40) NOT NULL, UNIQUE (hall, row_name));
CREATE TABLE `carts` (`id` char(36) NOT NULL, `code` varchar(64) DEFAULT NULL COMMENT 'for, (people)', PRIMARY KEY (`id`), UNIQUE KEY `by_code` (`code`));
