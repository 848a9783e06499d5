CREATE TABLE app.files (id UUID DEFAULT gen_random_uuid() PRIMARY KEY);
