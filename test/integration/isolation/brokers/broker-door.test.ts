import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { shareBrokerPort } from '../../../../src/isolation/broker.ts';
import { listenOnLoopback } from '../../../../src/isolation/listening.ts';
import type { BrokeredCall } from '../../../../src/ports/broker.ts';
import { createAgentLogin } from '../../../../src/wiring/agents/agent-settings.ts';

const KEYS = { claude: 'sk-ant-api03-of-anthropic', codex: 'sk-proj-of-openai' };

test('of several agents each call goes to its own provider through one port, and a placeholder of another call opens nothing', async () => {
  const asked: string[] = [];
  const provider = createServer((request, response) => {
    const { authorization, 'x-api-key': key } = request.headers;
    asked.push(`${request.url ?? ''} ${String(key ?? authorization)}`);
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"usage":{"input_tokens":1,"output_tokens":1}}');
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${String((provider.address() as AddressInfo).port)}`;
  const setting = { allowedTools: [], model: null, prices: {}, listen: shareBrokerPort(listenOnLoopback) };
  const claude = await createAgentLogin(
    'claude',
    { ANTHROPIC_API_KEY: KEYS.claude, ANTHROPIC_BASE_URL: address },
    setting,
  );
  const codex = await createAgentLogin(
    'codex',
    { OPENAI_API_KEY: KEYS.codex, OPENAI_BASE_URL: `${address}/v1` },
    setting,
  );
  const open = async (login: typeof claude): Promise<BrokeredCall> => {
    if (login.broker === null) throw new Error('no broker');
    return login.broker.open({ costUsd: null, tokens: null }, () => undefined);
  };
  const askClaude = ({ environment: { ANTHROPIC_BASE_URL: base = '', ANTHROPIC_API_KEY: key = '' } }: BrokeredCall) =>
    post(`${base}/v1/messages`, { 'x-api-key': key }, { model: 'm', messages: [] });
  const askCodex = ({ environment: { OPENAI_BASE_URL: base = '', OPENAI_API_KEY: key = '' } }: BrokeredCall) =>
    post(`${base}/responses`, { authorization: `Bearer ${key}` }, { model: 'm', input: [] });
  try {
    expect(await claude.broker?.port()).toBe(await codex.broker?.port());

    const first = await open(claude);
    expect(await askClaude(first)).toBe(200);
    await first.end();
    const second = await open(codex);
    expect(await askCodex(second)).toBe(200);
    // A process of the previous call still has its credentials.
    expect(await askClaude(first)).toBe(401);
    await second.end();
    expect(await askCodex(second)).toBe(401);

    const third = await open(claude);
    expect(await askClaude(third)).toBe(200);
    expect(await askCodex(second)).toBe(401);
    await third.end();
    expect(asked).toEqual([
      `/v1/messages ${KEYS.claude}`,
      `/v1/responses Bearer ${KEYS.codex}`,
      `/v1/messages ${KEYS.claude}`,
    ]);
  } finally {
    provider.close();
    provider.closeAllConnections();
  }
});

async function post(url: string, headers: Readonly<Record<string, string>>, body: object): Promise<number> {
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return status;
}
