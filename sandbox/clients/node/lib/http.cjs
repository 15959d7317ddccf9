'use strict';

// `node:http` instead of `fetch`: DOM test environments replace or lack the latter, and tests mock it.
const http = require('node:http');
const https = require('node:https');
const { SandboxError } = require('./errors.cjs');

/** Sends a request to a sandbox and returns the body of a successful response. */
function send(base, method, path, { key, query, json, body, type }) {
  const url = new URL(base.replace(/\/+$/, '') + path);
  for (const [name, value] of query ?? []) url.searchParams.append(name, value);
  const content = json === undefined ? body : JSON.stringify(json);
  const headers = { authorization: `Bearer ${key}`, connection: 'close' };
  if (content !== undefined) {
    headers['content-type'] = json === undefined ? type : 'application/json';
    headers['content-length'] = Buffer.byteLength(content);
  }
  return new Promise((resolve, reject) => {
    const lost = (cause) => {
      const message = `The sandbox at ${base} can't be reached (${method} ${path}): ${cause.code ?? cause.message}`;
      reject(new SandboxError('unreachable', message, { cause }));
    };
    const client = url.protocol === 'https:' ? https : http;
    const request = client.request(url, { method, headers, agent: false }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', lost);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode < 300) return resolve(text);
        let problem = {};
        try {
          problem = JSON.parse(text);
        } catch {
          // Not a response of a sandbox.
        }
        const message = `${method} ${path} failed with ${response.statusCode}: ${problem.message ?? text.slice(0, 200)}`;
        reject(new SandboxError(problem.name ?? 'http', message, { status: response.statusCode }));
      });
    });
    request.on('error', lost);
    request.end(content);
  });
}

/** The same, for JSON. */
async function call(base, method, path, options) {
  const text = await send(base, method, path, options);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SandboxError('not_a_sandbox', `${base} isn't a sandbox: ${method} ${path} returned no JSON`, { cause });
  }
}

module.exports = { call, send };
