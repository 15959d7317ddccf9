const { inbox, sandbox } = require('idempost-sandbox/jest');
const { signUp } = require('../app.cjs');
const { failsAlone, seesOnlyItsOwn, startsEmpty, waitsForTheNext, worksAgain } = require('../isolation.cjs');
const { together } = require('../together.cjs');

beforeAll(() => together(process.env.JEST_WORKER_ID), 30_000);
test('a worker sees only its own mails', () => seesOnlyItsOwn({ inbox, signUp }), 60_000);
(process.env.SUITE_SHARED ? test.skip : test)('a fault stays in its worker', () => failsAlone({ sandbox, inbox, signUp }));
test('a wait ends with the next mail', () => waitsForTheNext({ inbox, signUp }));
test('an inbox is empty at the start of a test', () => startsEmpty({ inbox }));
test('a fault and a moved clock end with their test', () => worksAgain({ sandbox, inbox, signUp }));
