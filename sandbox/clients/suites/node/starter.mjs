// Starts a sandbox, and runs until it is killed.
import { Sandbox } from 'idempost-sandbox';

const { url } = await Sandbox.start();
process.stdout.write(`${url}\n`);
setInterval(() => {}, 60_000);
