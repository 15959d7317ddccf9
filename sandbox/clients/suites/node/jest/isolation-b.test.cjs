require('./isolation.cjs');
