// `idempost mcp` with the official client: it validates every response, asks the user before a change, and sends.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const env = { PATH: process.env.PATH, HOME: process.env.HOME, IDEMPOST_BASE_URL: process.env.PEER_BASE_URL, IDEMPOST_API_KEY: 'sb_mcp' };
const transport = new StdioClientTransport({ command: process.argv[2], args: ['mcp', '--allow', 'manage'], env });
const client = new Client({ name: 'peer', version: '1.0.0' }, { capabilities: { elicitation: {} } });
const questions = [];
let answer = { action: 'decline' };
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  questions.push(params.message);
  return answer;
});
await client.connect(transport);
const { tools } = await client.listTools();
assert.ok(tools.length > 20 && tools.length < 128, `${tools.length} tools`);

const call = async (name, args = {}) => client.callTool({ name, arguments: args });
const email = { from: 'hi@acme.test', to: ['ada@example.com'], subject: 'MCP', text: 'It works' };
assert.ok((await call('emails_send', email)).isError, 'declined');
assert.match(questions.at(-1), /idempost emails send[^]*ada@example\.com/);
answer = { action: 'accept', content: { confirm: true } };
const sent = await call('emails_send', email);
assert.ok(!sent.isError, sent.content[0].text);
const { content: [{ text: fenced }] } = await call('emails_list', { all: true });
const list = JSON.parse(fenced.split('\n')[1]);
assert.deepEqual(list.data.map(({ id }) => id), [sent.structuredContent.id]);
await client.close();
console.log(`idempost mcp: ${tools.length} tools, one confirmed send, with the official client`);
