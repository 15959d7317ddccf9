// The same for CommonJS.
import { Sandbox } from 'idempost-sandbox';
import { inbox } from 'idempost-sandbox/jest';

export const started: Promise<Sandbox> = Sandbox.start({ args: ['--beta'] });
export const code: Promise<string> = inbox.waitFor().then((mail) => mail.code);
