import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import type { AcpScript, AcpStep } from '../../../testbed/acp/scripted-agent.ts';
import { noOwnMachine } from '../../own-machine.ts';
import { createScene } from '../e2e-fixture.ts';

/** Returns a script that asks the sandbox's proxy for a host and keeps the first line of the answer. */
const askFor = (host: string): string => `
  exec 3<> "/dev/tcp/127.0.0.1/\${HTTPS_PROXY##*:}"
  printf 'CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}:443\\r\\n\\r\\n' >&3
  head -1 <&3 | tr -d '\\r' > '${host}.txt'`;

/** Keeps the user, and the keys in all environments, reversed because the log hides them. */
const LOOK = `
  id -u > user.txt
  { env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; } 2> /dev/null | grep -o 'key-of-[a-z]*' | sort -u | rev > keys.txt`;

describe.skipIf(noOwnMachine !== null).each(['namespace', 'user'])(
  'an agent that speaks the Agent Client Protocol in a sandbox (%s)',
  (level) => {
    // Without namespaces, a firewall limits the hosts, and some machines have none.
    const hosts = level === 'namespace' ? ['api.example.com', 'evil.example'] : [];

    test('is another user, and has allowed hosts and the key of `agent-env` only', async () => {
      await using scene = await createScene({ level });
      scene.openIssue('Count');
      const look: AcpStep = {
        ...{ kind: 'make', call: { kind: 'execute', rawInput: { command: 'look' } } },
        run: [LOOK, ...hosts.map(askFor)].join('\n'),
      };
      const script: AcpScript = { prompts: [[look, { kind: 'say', text: 'I looked around.', tokens: 150 }]] };
      const path = join(inject('programs'), `acp-${randomUUID()}.json`);
      writeFileSync(path, JSON.stringify(script));
      const run = await scene.run({
        inputs: {
          agent: 'acp',
          'agent-path': join(inject('programs'), 'scripted-acp.mjs'),
          'allowed-tools': 'Read,Edit,Bash(git:*)',
          'agent-env': 'RALPH_ACP_SCRIPT, MY_AGENT_KEY',
          'allowed-hosts': hosts[0] ?? '',
          'max-iterations': '1',
        },
        env: {
          RALPH_ACP_SCRIPT: path,
          MY_AGENT_KEY: 'key-of-mine',
          OPENAI_API_KEY: 'sk-proj-key-of-another',
          COPILOT_GITHUB_TOKEN: 'github_pat_key-of-another',
        },
      });
      const found = (name: string): Promise<string> => scene.testbed.git('show', `ralph/queue:${name}`);
      expect(run.outputs['outcome'], run.main.log).toBe('limit');
      expect(run.summary).toContain(`Isolation: ${level} — own user`);
      // A call that nobody allowed is named, and the sandbox is the limit.
      expect(run.main.log).toContain('→ without asking: execute look');
      expect((await found('user.txt')).trim()).not.toBe(String(process.getuid?.()));
      expect((await found('keys.txt')).trim()).toBe('enim-fo-yek');
      const answers = await Promise.all(hosts.map((host) => found(`${host}.txt`)));
      expect(answers.map((answer) => answer.startsWith('HTTP/1.1 403'))).toEqual(hosts.map((_, nth) => nth > 0));
    });
  },
);
