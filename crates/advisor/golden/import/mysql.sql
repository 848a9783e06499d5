CREATE TABLE `visits` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `user_id` int(11) NOT NULL,
  `at` datetime(6) NOT NULL,
  `page` varchar(255) DEFAULT NULL,
  `place` point,
  PRIMARY KEY (`id`),
  UNIQUE KEY `by_user` (`user_id`, `at`)
) ENGINE=InnoDB;
