export default {
    api: {
        input: { target: 'openapi.json' },
        output: { target: 'generated/client.ts', schemas: 'generated/model', client: 'fetch', baseUrl: process.env.RESEND_BASE_URL, clean: true },
    },
};
