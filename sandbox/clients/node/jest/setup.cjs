'use strict';

require('../lib/runner.cjs').attach('jest', process.env.JEST_WORKER_ID);
