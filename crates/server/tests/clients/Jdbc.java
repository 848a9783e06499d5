import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;

/**
 * pgjdbc: metadata, batches, portals read by pieces, and what Spark asks.
 *
 * <p>Run from source with the address as its argument: {@code java -cp postgresql.jar Jdbc.java
 * jdbc:postgresql://127.0.0.1:5433/boats?user=ada}. Each section ends at its first surprise; the
 * others run all the same. Further arguments are names of sections, after a minus if they are known to
 * fail.
 */
public final class Jdbc {
    private interface Section {
        void run() throws Exception;
    }

    private static final class Surprise extends RuntimeException {
        Surprise(String message) {
            super(message);
        }
    }

    private static String url;
    private static final List<String> failed = new ArrayList<>();
    private static final List<String> wanted = new ArrayList<>();
    private static final List<String> notYet = new ArrayList<>();

    public static void main(String[] arguments) {
        url = arguments[0];
        for (String name : Arrays.asList(arguments).subList(1, arguments.length)) {
            // A minus stands before a section that is known to fail.
            if (name.startsWith("-")) {
                notYet.add(name.substring(1));
            } else {
                wanted.add(name);
            }
        }
        section("connecting", Jdbc::connecting);
        section("types", Jdbc::types);
        section("tables", Jdbc::tables);
        section("columns", Jdbc::columns);
        section("keys", Jdbc::keys);
        section("metadataOfResults", Jdbc::metadataOfResults);
        section("metadataOfParameters", Jdbc::metadataOfParameters);
        section("batches", Jdbc::batches);
        section("generatedKeys", Jdbc::generatedKeys);
        section("fetchSize", Jdbc::fetchSize);
        section("preparedOnTheServer", Jdbc::preparedOnTheServer);
        section("simpleProtocol", Jdbc::simpleProtocol);
        section("transactions", Jdbc::transactions);
        section("refusals", Jdbc::refusals);
        section("arrays", Jdbc::arrays);
        section("copying", Jdbc::copying);
        section("cancelling", Jdbc::cancelling);
        section("sparkReads", Jdbc::sparkReads);
        section("sparkWrites", Jdbc::sparkWrites);
        List<String> mended = new ArrayList<>(notYet);
        mended.removeAll(failed);
        failed.removeAll(notYet);
        if (!failed.isEmpty()) {
            System.out.println("sections that failed: " + String.join(", ", failed));
        }
        if (!mended.isEmpty()) {
            System.out.println("sections that pass now, or do not exist, take them off the list: " + String.join(", ", mended));
        }
        System.exit(failed.isEmpty() && mended.isEmpty() ? 0 : 1);
    }

    private static void section(String name, Section section) {
        if (!wanted.isEmpty() && !wanted.contains(name)) {
            return;
        }
        try {
            section.run();
            System.out.println("ok   " + name);
        } catch (Exception error) {
            failed.add(name);
            String state = error instanceof SQLException sql ? sql.getSQLState() + " " : "";
            String place = "";
            for (StackTraceElement element : error.getStackTrace()) {
                if (element.getClassName().equals("Jdbc") && !element.getMethodName().equals("same")) {
                    place = ", line " + element.getLineNumber();
                    break;
                }
            }
            System.out.println("FAIL " + name + place + "\n     " + state + error.getMessage());
        }
    }

    private static void same(String what, Object actual, Object expected) {
        if (!Objects.deepEquals(actual, expected)) {
            throw new Surprise(what + "\n     expected " + expected + "\n     actual   " + actual);
        }
    }

    private static SQLException refused(String what, String state, Section section) throws Exception {
        try {
            section.run();
        } catch (SQLException error) {
            same("SQLSTATE of " + what + " (" + error.getMessage() + ")", error.getSQLState(), state);
            return error;
        }
        throw new Surprise(what + "\n     expected SQLSTATE " + state + "\n     actual   no error");
    }

    private static Connection connect(String... options) throws SQLException {
        Properties properties = new Properties();
        for (int at = 0; at + 1 < options.length; at += 2) {
            properties.setProperty(options[at], options[at + 1]);
        }
        return DriverManager.getConnection(url, properties);
    }

    private static void run(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : statements) {
                statement.execute(text);
            }
        }
    }

    private static void fresh(Connection connection, String table, String columns) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS " + table, "CREATE TABLE " + table + " (" + columns + ")");
    }

    /** The rows as text: columns by a bar, rows by a blank. */
    private static String ask(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return read(statement.executeQuery(text));
        }
    }

    private static String read(ResultSet rows) throws SQLException {
        List<String> lines = new ArrayList<>();
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (int at = 1; at <= columns; at++) {
                values.add(String.valueOf(rows.getString(at)));
            }
            lines.add(String.join("|", values));
        }
        return String.join(" ", lines);
    }

    /** Chosen columns of what the metadata tells. */
    private static String pick(ResultSet rows, String... columns) throws SQLException {
        List<String> lines = new ArrayList<>();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (String column : columns) {
                values.add(String.valueOf(rows.getString(column)));
            }
            lines.add(String.join("|", values));
        }
        return String.join(" ", lines);
    }

    private static void connecting() throws Exception {
        try (Connection connection = connect("ApplicationName", "jdbc-test")) {
            DatabaseMetaData metadata = connection.getMetaData();
            same("product", metadata.getDatabaseProductName(), "PostgreSQL");
            same("version", metadata.getDatabaseMajorVersion() >= 12, true);
            same("valid", connection.isValid(5), true);
            same("application", ask(connection, "SHOW application_name"), "jdbc-test");
            same("schema", connection.getSchema(), "public");
            same("catalog", connection.getCatalog(), ask(connection, "SELECT current_database()"));
            same("read only", connection.isReadOnly(), false);
        }
    }

    private static void types() throws Exception {
        // Binary transfer begins once a statement is prepared on the server: -1 is from the start.
        for (String threshold : new String[] {"0", "-1"}) {
            try (Connection connection = connect("prepareThreshold", threshold)) {
                fresh(connection, "jdbc_types", "id integer PRIMARY KEY, truth boolean, small smallint, large bigint, single real,"
                    + " double double precision, exact numeric(22, 9), words text, short varchar(20), bytes bytea, day date,"
                    + " moment timestamp, instant timestamptz, name uuid, doc jsonb");
                LocalDateTime moment = LocalDateTime.of(2018, 6, 2, 12, 30, 1, 999_999_000);
                OffsetDateTime instant = OffsetDateTime.of(moment, ZoneOffset.UTC);
                UUID name = UUID.fromString("123e4567-e89b-12d3-a456-426614174000");
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_types VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?::jsonb)")) {
                    insert.setInt(1, 1);
                    insert.setBoolean(2, true);
                    insert.setShort(3, Short.MIN_VALUE);
                    insert.setLong(4, Long.MAX_VALUE);
                    insert.setFloat(5, 0.25f);
                    insert.setDouble(6, -1.5e300);
                    insert.setBigDecimal(7, new BigDecimal("-1234567890123.000000001"));
                    insert.setString(8, "it's \\ zwölf ⛵");
                    insert.setString(9, " blanks ");
                    insert.setBytes(10, new byte[] {0, -1, 127});
                    insert.setObject(11, LocalDate.of(2024, 2, 29));
                    insert.setObject(12, moment);
                    insert.setObject(13, instant);
                    insert.setObject(14, name);
                    insert.setString(15, "{\"a\": 1}");
                    same("inserted", insert.executeUpdate(), 1);
                    insert.setInt(1, 2);
                    for (int at = 2; at <= 15; at++) {
                        insert.setNull(at, Types.NULL);
                    }
                    same("inserted nulls", insert.executeUpdate(), 1);
                }
                try (PreparedStatement select = connection.prepareStatement("SELECT * FROM jdbc_types WHERE id = ?")) {
                    select.setInt(1, 1);
                    ResultSet row = select.executeQuery();
                    same("a row", row.next(), true);
                    same("boolean", row.getBoolean("truth"), true);
                    same("smallint", row.getShort("small"), Short.MIN_VALUE);
                    same("bigint", row.getLong("large"), Long.MAX_VALUE);
                    same("real", row.getFloat("single"), 0.25f);
                    same("double", row.getDouble("double"), -1.5e300);
                    same("numeric", row.getBigDecimal("exact"), new BigDecimal("-1234567890123.000000001"));
                    same("text", row.getString("words"), "it's \\ zwölf ⛵");
                    same("varchar", row.getString("short"), " blanks ");
                    same("bytea", row.getBytes("bytes"), new byte[] {0, -1, 127});
                    same("date", row.getObject("day", LocalDate.class), LocalDate.of(2024, 2, 29));
                    same("timestamp", row.getObject("moment", LocalDateTime.class), moment);
                    same("timestamptz", row.getObject("instant", OffsetDateTime.class), instant);
                    same("uuid", row.getObject("name"), name);
                    same("jsonb", row.getString("doc"), "{\"a\": 1}");
                    select.setInt(1, 2);
                    row = select.executeQuery();
                    row.next();
                    for (int at = 2; at <= 15; at++) {
                        same("NULL in column " + at, row.getObject(at), null);
                    }
                }
                try (PreparedStatement select = connection.prepareStatement("SELECT id FROM jdbc_types WHERE day = ? AND moment = ? AND name = ? AND exact < ?")) {
                    select.setDate(1, Date.valueOf("2024-02-29"));
                    select.setTimestamp(2, Timestamp.valueOf(moment));
                    select.setObject(3, name);
                    select.setBigDecimal(4, BigDecimal.ZERO);
                    same("parameters in a condition", read(select.executeQuery()), "1");
                }
            }
        }
    }

    private static void tables() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_tables", "id integer PRIMARY KEY");
            fresh(connection, "\"jdbc Mixed\"", "id integer PRIMARY KEY");
            DatabaseMetaData metadata = connection.getMetaData();
            String[] only = {"TABLE"};
            same("by name", pick(metadata.getTables(null, "public", "jdbc\\_tables", only), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"),
                "public|jdbc_tables|TABLE");
            same("by pattern", pick(metadata.getTables(null, null, "jdbc Mix%", only), "TABLE_NAME"), "jdbc Mixed");
            same("none", pick(metadata.getTables(null, "public", "jdbc_no_such_table", only), "TABLE_NAME"), "");
            same("schemas", (" " + pick(metadata.getSchemas(), "TABLE_SCHEM") + " ").contains(" public "), true);
            same("catalogs", (" " + pick(metadata.getCatalogs(), "TABLE_CAT") + " ").contains(" " + connection.getCatalog() + " "), true);
            same("kinds of tables", (" " + pick(metadata.getTableTypes(), "TABLE_TYPE") + " ").contains(" VIEW "), true);
            same("types", (" " + pick(metadata.getTypeInfo(), "TYPE_NAME") + " ").contains(" int8 "), true);
            same("functions", metadata.getFunctions(null, null, "jdbc_no_such_function").next(), false);
        }
    }

    private static void columns() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_columns", "id bigserial PRIMARY KEY, name varchar(30) NOT NULL, price numeric(10, 2) DEFAULT 1.5,"
                + " day date, truth boolean, doc jsonb, moment timestamptz, bytes bytea");
            ResultSet columns = connection.getMetaData().getColumns(null, "public", "jdbc_columns", null);
            same("columns", pick(columns, "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "ORDINAL_POSITION"),
                "id|bigserial|-5|19|0|NO|1 name|varchar|12|30|0|NO|2 price|numeric|2|10|2|YES|3 day|date|91|13|0|YES|4"
                    + " truth|bool|-7|1|0|YES|5 doc|jsonb|1111|2147483647|0|YES|6 moment|timestamptz|93|35|6|YES|7"
                    + " bytes|bytea|-2|2147483647|0|YES|8");
            columns = connection.getMetaData().getColumns(null, "public", "jdbc_columns", "price");
            same("a default", pick(columns, "COLUMN_DEF", "IS_AUTOINCREMENT"), "1.5|NO");
            columns = connection.getMetaData().getColumns(null, "public", "jdbc_columns", "id");
            same("a sequence", pick(columns, "IS_AUTOINCREMENT"), "YES");
        }
    }

    private static void keys() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_keys", "a integer, b text, c date, PRIMARY KEY (b, a)");
            DatabaseMetaData metadata = connection.getMetaData();
            same("primary key", pick(metadata.getPrimaryKeys(null, "public", "jdbc_keys"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"),
                "b|1|jdbc_keys_pkey a|2|jdbc_keys_pkey");
            same("its index", pick(metadata.getIndexInfo(null, "public", "jdbc_keys", true, false), "INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME"),
                "jdbc_keys_pkey|f|1|b jdbc_keys_pkey|f|2|a");
            same("best identifier", pick(metadata.getBestRowIdentifier(null, "public", "jdbc_keys", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME").length(), 3);
            same("no foreign keys", metadata.getImportedKeys(null, "public", "jdbc_keys").next(), false);
            same("none to it", metadata.getExportedKeys(null, "public", "jdbc_keys").next(), false);
        }
    }

    private static void metadataOfResults() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_results", "id serial PRIMARY KEY, \"Mixed Case\" varchar(7) NOT NULL, price numeric(10, 2)");
            try (Statement statement = connection.createStatement()) {
                ResultSetMetaData metadata = statement.executeQuery("SELECT id, \"Mixed Case\" AS label, price, price * 2 AS twice FROM jdbc_results").getMetaData();
                List<String> lines = new ArrayList<>();
                for (int at = 1; at <= metadata.getColumnCount(); at++) {
                    lines.add(String.join("|", metadata.getColumnLabel(at), metadata.getColumnTypeName(at),
                        String.valueOf(metadata.getPrecision(at)), String.valueOf(metadata.getScale(at)), metadata.getColumnClassName(at)));
                }
                same("labels, types and sizes", String.join(" ", lines), "id|serial|10|0|java.lang.Integer label|varchar|7|0|java.lang.String"
                    + " price|numeric|10|2|java.math.BigDecimal twice|numeric|0|0|java.math.BigDecimal");
                same("of which table", metadata.getTableName(2) + "|" + metadata.getTableName(4), "jdbc_results|");
                same("autoincrement", metadata.isAutoIncrement(1), true);
                same("nullable", metadata.isNullable(2) + " " + metadata.isNullable(3), ResultSetMetaData.columnNoNulls + " " + ResultSetMetaData.columnNullable);
            }
        }
    }

    private static void metadataOfParameters() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_parameters", "id bigint PRIMARY KEY, name text, day date");
            try (PreparedStatement statement = connection.prepareStatement("UPDATE jdbc_parameters SET name = ?, day = ? WHERE id = ?")) {
                same("count", statement.getParameterMetaData().getParameterCount(), 3);
                same("types", statement.getParameterMetaData().getParameterTypeName(1) + " " + statement.getParameterMetaData().getParameterTypeName(2)
                    + " " + statement.getParameterMetaData().getParameterTypeName(3), "text date int8");
            }
            try (PreparedStatement statement = connection.prepareStatement("SELECT name FROM jdbc_parameters WHERE id = ?")) {
                same("a result before it is run", statement.getMetaData().getColumnTypeName(1), "text");
            }
        }
    }

    private static void batches() throws Exception {
        for (String rewrite : new String[] {"false", "true"}) {
            try (Connection connection = connect("reWriteBatchedInserts", rewrite)) {
                fresh(connection, "jdbc_batches", "id integer PRIMARY KEY, name text");
                connection.setAutoCommit(false);
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_batches VALUES (?, ?)")) {
                    for (int id = 0; id < 1000; id++) {
                        insert.setInt(1, id);
                        insert.setString(2, "n" + id);
                        insert.addBatch();
                    }
                    same("counts", insert.executeBatch().length, 1000);
                }
                connection.commit();
                same("rows", ask(connection, "SELECT count(*), min(id), max(id) FROM jdbc_batches"), "1000|0|999");
                try (PreparedStatement update = connection.prepareStatement("UPDATE jdbc_batches SET name = ? WHERE id = ?")) {
                    for (int id : new int[] {1, 5000, 2}) {
                        update.setString(1, "changed");
                        update.setInt(2, id);
                        update.addBatch();
                    }
                    same("counts of updates", update.executeBatch(), new int[] {1, 0, 1});
                }
                try (Statement mixed = connection.createStatement()) {
                    mixed.addBatch("INSERT INTO jdbc_batches VALUES (2000, 'x')");
                    mixed.addBatch("DELETE FROM jdbc_batches WHERE id < 10");
                    same("counts of different statements", mixed.executeBatch(), new int[] {1, 10});
                }
                connection.commit();
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_batches VALUES (?, 'y')")) {
                    for (int id : new int[] {3000, 2000, 3001}) {
                        insert.setInt(1, id);
                        insert.addBatch();
                    }
                    refused("a batch with a key that is there", "23505", insert::executeBatch);
                }
                connection.rollback();
                same("nothing of it", ask(connection, "SELECT count(*) FROM jdbc_batches WHERE id >= 3000"), "0");
            }
        }
    }

    private static void generatedKeys() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_generated", "id serial PRIMARY KEY, name text");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_generated (name) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "a");
                insert.executeUpdate();
                same("all columns", read(insert.getGeneratedKeys()), "1|a");
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_generated (name) VALUES (?), (?)", new String[] {"id"})) {
                insert.setString(1, "b");
                insert.setString(2, "c");
                insert.executeUpdate();
                same("the named one", read(insert.getGeneratedKeys()), "2 3");
            }
        }
    }

    private static void fetchSize() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_fetch", "id integer PRIMARY KEY");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_fetch VALUES (?)")) {
                for (int id = 0; id < 500; id++) {
                    insert.setInt(1, id);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            connection.commit();
            try (PreparedStatement select = connection.prepareStatement("SELECT id FROM jdbc_fetch WHERE id >= ? ORDER BY id")) {
                select.setFetchSize(50);
                select.setInt(1, 10);
                ResultSet rows = select.executeQuery();
                int expected = 10;
                while (rows.next()) {
                    same("row", rows.getInt(1), expected++);
                    if (expected == 100) {
                        // Another statement between two pieces of a portal.
                        same("between", ask(connection, "SELECT count(*) FROM jdbc_fetch"), "500");
                    }
                }
                same("all rows", expected, 500);
                select.setMaxRows(7);
                same("at most", read(select.executeQuery()).split(" ").length, 7);
            }
            try (Statement aggregate = connection.createStatement()) {
                aggregate.setFetchSize(3);
                same("of a query that is no scan", read(aggregate.executeQuery("SELECT id % 7 AS rest, count(*) FROM jdbc_fetch GROUP BY id % 7 ORDER BY rest")),
                    "0|72 1|72 2|72 3|71 4|71 5|71 6|71");
            }
            connection.commit();
        }
    }

    private static void preparedOnTheServer() throws Exception {
        try (Connection connection = connect("prepareThreshold", "2")) {
            fresh(connection, "jdbc_prepared", "id integer PRIMARY KEY, name text");
            try (PreparedStatement upsert = connection.prepareStatement("INSERT INTO jdbc_prepared VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name");
                PreparedStatement select = connection.prepareStatement("SELECT name FROM jdbc_prepared WHERE id = ?")) {
                for (int at = 0; at < 20; at++) {
                    upsert.setInt(1, at % 4);
                    upsert.setString(2, "n" + at);
                    same("count", upsert.executeUpdate(), 1);
                    select.setInt(1, at % 4);
                    same("found", read(select.executeQuery()), "n" + at);
                }
                run(connection, "ALTER TABLE jdbc_prepared ADD COLUMN more integer");
                select.setInt(1, 1);
                same("after a change of the table", read(select.executeQuery()), "n17");
            }
        }
    }

    private static void simpleProtocol() throws Exception {
        try (Connection connection = connect("preferQueryMode", "simple")) {
            fresh(connection, "jdbc_simple", "id integer PRIMARY KEY, name text, day date");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_simple VALUES (?, ?, ?)")) {
                insert.setInt(1, 1);
                insert.setString(2, "it's");
                insert.setObject(3, LocalDate.of(2024, 2, 29));
                same("count", insert.executeUpdate(), 1);
            }
            same("row", ask(connection, "SELECT * FROM jdbc_simple"), "1|it's|2024-02-29");
            try (Statement statement = connection.createStatement()) {
                same("first", statement.execute("SELECT 1; UPDATE jdbc_simple SET name = 'x'; SELECT name FROM jdbc_simple"), true);
                statement.getMoreResults();
                same("second", statement.getUpdateCount(), 1);
                statement.getMoreResults();
                same("third", read(statement.getResultSet()), "x");
            }
        }
    }

    private static void transactions() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_txn", "id integer PRIMARY KEY");
            for (int level : new int[] {Connection.TRANSACTION_READ_UNCOMMITTED, Connection.TRANSACTION_READ_COMMITTED,
                Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE}) {
                connection.setTransactionIsolation(level);
            }
            same("level", connection.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
            connection.setAutoCommit(false);
            run(connection, "INSERT INTO jdbc_txn VALUES (1)");
            connection.rollback();
            run(connection, "INSERT INTO jdbc_txn VALUES (2)");
            Savepoint savepoint = connection.setSavepoint("here");
            run(connection, "INSERT INTO jdbc_txn VALUES (3)");
            connection.rollback(savepoint);
            connection.releaseSavepoint(savepoint);
            connection.commit();
            same("rows", ask(connection, "SELECT id FROM jdbc_txn"), "2");
            connection.commit();
            connection.setReadOnly(true);
            refused("a write in a read-only transaction", "25006", () -> run(connection, "INSERT INTO jdbc_txn VALUES (4)"));
            connection.rollback();
            connection.setReadOnly(false);
            refused("a failure", "42P01", () -> run(connection, "SELECT * FROM jdbc_no_such_table"));
            refused("after a failure", "25P02", () -> run(connection, "SELECT 1"));
            connection.rollback();
        }
        try (Connection always = connect("autosave", "always")) {
            always.setAutoCommit(false);
            run(always, "INSERT INTO jdbc_txn VALUES (10)");
            refused("a failure between savepoints", "23505", () -> run(always, "INSERT INTO jdbc_txn VALUES (10)"));
            run(always, "INSERT INTO jdbc_txn VALUES (11)");
            always.commit();
            same("both rows", ask(always, "SELECT count(*) FROM jdbc_txn WHERE id >= 10"), "2");
        }
    }

    private static void refusals() throws Exception {
        try (Connection one = connect(); Connection two = connect()) {
            fresh(one, "jdbc_refusals", "id integer PRIMARY KEY, n integer NOT NULL");
            run(one, "INSERT INTO jdbc_refusals VALUES (1, 1)");
            refused("a key that is there", "23505", () -> run(one, "INSERT INTO jdbc_refusals VALUES (1, 2)"));
            refused("a null", "23502", () -> run(one, "INSERT INTO jdbc_refusals VALUES (2, NULL)"));
            refused("nonsense", "42601", () -> run(one, "SELECT 1 FROM FROM"));
            refused("no such column", "42703", () -> run(one, "SELECT nothing FROM jdbc_refusals"));
            refused("a division", "22012", () -> run(one, "SELECT n / (n - n) FROM jdbc_refusals"));
            for (Connection each : new Connection[] {one, two}) {
                each.setAutoCommit(false);
                each.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                same("read", ask(each, "SELECT n FROM jdbc_refusals WHERE id = 1"), "1");
            }
            run(two, "UPDATE jdbc_refusals SET n = 2 WHERE id = 1");
            two.commit();
            refused("a lost update", "40001", () -> {
                run(one, "UPDATE jdbc_refusals SET n = 3 WHERE id = 1");
                one.commit();
            });
            one.rollback();
        }
    }

    private static void arrays() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_arrays", "id bigint PRIMARY KEY, name text");
            run(connection, "INSERT INTO jdbc_arrays VALUES (1, 'a'), (2, 'b'), (3, 'c')");
            try (PreparedStatement select = connection.prepareStatement("SELECT name FROM jdbc_arrays WHERE id = ANY (?) ORDER BY id")) {
                select.setArray(1, connection.createArrayOf("bigint", new Long[] {1L, 3L}));
                same("= ANY", read(select.executeQuery()), "a c");
            }
            try (Statement statement = connection.createStatement()) {
                ResultSet row = statement.executeQuery("SELECT ARRAY['x', 'y,z']");
                row.next();
                same("an array", row.getArray(1).getArray(), new String[] {"x", "y,z"});
            }
        }
    }

    private static void copying() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_copy", "id integer PRIMARY KEY, name text");
            var copy = connection.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
            same("in", copy.copyIn("COPY jdbc_copy FROM STDIN (FORMAT csv)", new java.io.StringReader("1,a\n2,\"b,c\"\n")), 2L);
            java.io.StringWriter out = new java.io.StringWriter();
            same("out", copy.copyOut("COPY jdbc_copy TO STDOUT (FORMAT csv)", out), 2L);
            same("text", out.toString(), "1,a\n2,\"b,c\"\n");
        }
    }

    private static void cancelling() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            refused("a statement over time", "57014", () -> statement.executeQuery("SELECT pg_sleep(20)"));
            same("afterwards", ask(connection, "SELECT 1"), "1");
        }
    }

    private static void sparkReads() throws Exception {
        try (Connection connection = connect()) {
            fresh(connection, "jdbc_spark", "id bigint PRIMARY KEY, name text, price numeric(10, 2), moment timestamp");
            run(connection, "INSERT INTO jdbc_spark SELECT n, 'n' || n, n * 1.5, TIMESTAMP '2024-01-01 00:00:00' FROM generate_series(1, 100) AS n");
            try (PreparedStatement probe = connection.prepareStatement("SELECT * FROM jdbc_spark WHERE 1=0")) {
                ResultSetMetaData metadata = probe.executeQuery().getMetaData();
                List<String> lines = new ArrayList<>();
                for (int at = 1; at <= metadata.getColumnCount(); at++) {
                    lines.add(metadata.getColumnLabel(at) + "|" + metadata.getColumnType(at) + "|" + metadata.getPrecision(at) + "|" + metadata.getScale(at)
                        + "|" + metadata.isNullable(at) + "|" + metadata.isSigned(at));
                }
                same("the schema", String.join(" ", lines), "id|-5|19|0|0|true name|12|2147483647|0|1|false price|2|10|2|1|true moment|93|29|6|1|false");
            }
            same("a query as a table", ask(connection, "SELECT * FROM (SELECT id, name FROM jdbc_spark) SPARK_GEN_SUBQ_0 WHERE 1=0"), "");
            same("the first part", ask(connection, "SELECT \"id\" FROM jdbc_spark WHERE \"id\" < 3 or \"id\" is null"), "1 2");
            same("a middle part", ask(connection, "SELECT \"id\",\"name\" FROM jdbc_spark WHERE \"id\" >= 50 AND \"id\" < 52"), "50|n50 51|n51");
            same("filters", ask(connection, "SELECT \"id\" FROM jdbc_spark WHERE (\"name\" IS NOT NULL) AND (\"name\" LIKE 'n9_%' ESCAPE '\\') AND (\"id\" IN (95,97,5))"), "95 97");
            same("nothing but rows", ask(connection, "SELECT 1 FROM jdbc_spark WHERE \"id\" > 98"), "1 1");
            same("aggregates", ask(connection, "SELECT COUNT(*),MAX(\"id\"),SUM(\"price\") FROM jdbc_spark"), "100|100|7575.00");
            same("groups", ask(connection, "SELECT \"moment\",COUNT(*) FROM jdbc_spark GROUP BY \"moment\""), "2024-01-01 00:00:00|100");
            same("the top", ask(connection, "SELECT \"id\" FROM jdbc_spark ORDER BY \"id\" DESC NULLS LAST LIMIT 3"), "100 99 98");
            connection.setAutoCommit(false);
            try (PreparedStatement select = connection.prepareStatement("SELECT \"id\" FROM jdbc_spark", ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
                select.setFetchSize(10);
                same("by pieces", read(select.executeQuery()).split(" ").length, 100);
            }
            connection.commit();
        }
    }

    private static void sparkWrites() throws Exception {
        try (Connection connection = connect()) {
            run(connection, "DROP TABLE IF EXISTS jdbc_spark_out");
            refused("no table yet", "42P01", () -> ask(connection, "SELECT 1 FROM jdbc_spark_out WHERE 1=0"));
            run(connection, "CREATE TABLE jdbc_spark_out (\"id\" BIGINT , \"name\" TEXT , \"short\" VARCHAR(10) , \"truth\" BOOLEAN )");
            run(connection, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
            same("transactions", connection.getMetaData().supportsDataManipulationTransactionsOnly() || connection.getMetaData().supportsDataDefinitionAndDataManipulationTransactions(), true);
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_spark_out (\"id\",\"name\",\"short\",\"truth\") VALUES (?,?,?,?)")) {
                for (int id = 0; id < 250; id++) {
                    insert.setLong(1, id % 200);
                    if (id % 10 == 0) {
                        insert.setNull(2, Types.VARCHAR);
                    } else {
                        insert.setString(2, "n" + id);
                    }
                    insert.setString(3, "s");
                    insert.setBoolean(4, id % 2 == 0);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            connection.commit();
            // Without a key the same row may come twice.
            same("rows", ask(connection, "SELECT count(*), count(\"name\"), count(DISTINCT \"id\") FROM jdbc_spark_out"), "250|225|200");
            connection.commit();
            connection.setAutoCommit(true);
            run(connection, "TRUNCATE TABLE ONLY jdbc_spark_out");
            same("emptied", ask(connection, "SELECT count(*) FROM jdbc_spark_out"), "0");
            run(connection, "DROP TABLE jdbc_spark_out");
        }
    }
}
