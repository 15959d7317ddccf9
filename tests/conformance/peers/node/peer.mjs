// The npm client `resend`, unchanged but for its base address: the calls that it documents, a file a resource, each with a key of
// its own and so with a sandbox of its own.
import { Resend } from 'resend';

const stories = ['emails', 'templates', 'domains', 'contacts', 'broadcasts', 'automations', 'receiving', 'account'];

for (const story of stories) {
  const { default: tell } = await import(`./${story}.mjs`);
  const client = new Resend(`re_node_${story}`, { baseUrl: process.env.PEER_BASE_URL });
  try {
    await tell(client);
  } catch (error) {
    console.error(`npm resend: ${story}`);
    throw error;
  }
}
console.log(`npm resend: ${stories.join(', ')}`);
