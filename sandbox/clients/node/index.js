export { Inbox, Sandbox, SandboxError } from './lib/index.cjs';
