import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRootlessSandbox } from '../../../src/isolation/rootless/open-rootless-sandbox.ts';
import { noOwnMachine, startOwnMachine, type OwnMachine } from '../../own-machine.ts';

const UID = 1001;
/** Runs as a user without rights, on a separate machine if root runs the tests. */
const DROPPED = ['setpriv', `--reuid=${String(UID)}`, `--regid=${String(UID)}`, '--clear-groups', '--no-new-privs'];
const IS_ROOT = ownUid() === 0;
const missing = ['bwrap', 'socat', 'curl', 'git'].filter((name) => spawnSync('which', [name]).status !== 0);
const whyNot = missing.length > 0 ? `without ${missing.join(' and ')}` : IS_ROOT ? noOwnMachine : null;

function ownUid(): number | undefined {
  return process.getuid?.();
}

/** A sandbox, or the reason why it could not be created. */
interface Opened {
  readonly level?: string;
  readonly why?: string;
  readonly folders: Readonly<Record<'home' | 'session' | 'trees' | 'inbox', string>>;
}

/** A program that has ended. */
interface Ran {
  readonly end: unknown;
  readonly out: string;
  readonly error: string;
}

interface Runner extends AsyncDisposable {
  ask<Answer = unknown>(what: string, request?: object): Promise<Answer>;
  readonly ended: Promise<unknown>;
}

let machine: OwnMachine | null = null;

/** Starts a runner's process in a separate folder; see rootless-sandbox-process.ts. */
async function startRunner(base: string): Promise<Runner> {
  const [file = '', ...args] = [
    ...(machine === null ? [] : [...machine.around, ...DROPPED]),
    ...[process.execPath, join(import.meta.dirname, 'rootless-sandbox-process.ts'), base],
  ];
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: process.env['PATH'] } });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit');
  return {
    ask: async <Answer>(what: string, request: object = {}) => {
      child.stdin.write(`${JSON.stringify({ do: what, ...request })}\n`);
      const { value } = await answers.next();
      return (JSON.parse(value ?? '{}') as { answer: Answer }).answer;
    },
    ended,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** Names are short because they are part of socket paths. */
let count = 0;
function freshBase(): string {
  count += 1;
  return `/tmp/rs-${String(process.pid)}-${String(count)}`;
}

test.runIf(IS_ROOT)('root is not a user for it, and has better', async () => {
  await expect(openRootlessSandbox({ environment: process.env } as never)).rejects.toThrow('for users without root');
});

describe.skipIf(whyNot !== null)(`a sandbox without root${whyNot === null ? '' : ` (skipped: ${whyNot})`}`, () => {
  let runner: Runner;
  let base = '';
  let opened: Opened;
  beforeAll(async () => {
    if (IS_ROOT) machine = await startOwnMachine();
    base = freshBase();
    runner = await startRunner(base);
    opened = await runner.ask<Opened>('open');
  });
  afterAll(async () => {
    await runner[Symbol.asyncDispose]();
    await machine?.[Symbol.asyncDispose]();
  });
  const run = (script: string, more: object = {}) => runner.ask<Ran>('run', { script, ...more });

  test('reports the level sandbox and this very user, and reaches two ports', () => {
    expect(opened).toMatchObject({ level: 'sandbox', uid: IS_ROOT ? UID : ownUid(), ports: [3128, 1080] });
  });

  test('gives a program its input, its arguments, its environment as it is, its folder, its output and its end', async () => {
    const odd = `it's "x" $HOME \`id\`\n`;
    const { end, out } = await run(
      'pwd; cat; printf %s "$ODD"; env | grep -c -i -E "proxy|sandbox|ralph_|claude|^java"; exit 7',
      { input: 'prompt\n', environment: { ODD: odd } },
    );
    expect(out).toBe(`${opened.folders.trees}\nprompt\n${odd}0`);
    expect(end).toEqual({ kind: 'exited', code: 7 });
  });

  test('keeps values off command lines', async () => {
    const { out } = await run('tr "\\0" " " < /proc/1/cmdline; cat /proc/[0-9]*/cmdline | grep -a -c "SE[C]RET"', {
      environment: { TOKEN: 'SECRET' },
    });
    expect(out).toMatch(/\b0$/);
    expect(out).not.toContain('SECRET');
  });

  test('reaches the broker, whose answer passes as it comes, and a proxy that is asked for every host', async () => {
    expect((await run('curl -sS http://127.0.0.1:1080/v1/messages -d x')).out).toBe('ab');
    const refused = await run('curl -sS https://example.org/', {
      environment: { HTTPS_PROXY: 'http://127.0.0.1:3128' },
    });
    expect(refused.error).toContain('403');
    expect(await runner.ask('asked')).toEqual(['example.org:443']);
  });

  test('reaches nothing else: no address, no service of this machine, no socket with a path', async () => {
    const port = await runner.ask<number>('services');
    const { error } = await run(
      `for way in http://127.0.0.1:${String(port)}/ http://192.0.2.1/; do curl -sS -m 2 $way; done; curl -sS --unix-socket ${base}/socket http://x/`,
    );
    expect(error.split('\n')).toHaveLength(3);
    expect(error).toContain('(7)');
  });

  test('hides what is neither the sandbox nor the system, and lets it write nothing else', async () => {
    const { inbox, home, session, trees } = opened.folders;
    const [checkout, tree] = [join(base, 'opt', 'runner', 'work'), join(trees, 'work', 'shop')];
    const { out } = await run(
      `cat ${base}/secret ${base}/opt/runner/credentials 2>&1; ls ${base} ${base}/run /var /run /root; for f in /usr /etc ${inbox} ${home} ${session} ${tree} ${checkout} ${base}/opt .; do touch $f/t 2>/dev/null && echo "wrote $f"; done; ls /proc | grep -c '^[0-9]'; unshare --user true || echo kept`,
    );
    expect(out).not.toContain('sk-secret');
    expect(out.split('\n').filter((line) => line.startsWith('wrote'))).toEqual(
      [home, session, tree, '.'].map((path) => `wrote ${path}`),
    );
    expect(out).toContain('kept');
    expect(Number(/^\d+$/m.exec(out)?.[0])).toBeLessThan(12);
    expect(await runner.ask('exists', { path: trees })).toEqual(['t', 'work']);
  });

  test('is found by the probe to be what it is', async () => {
    const { failed, answer, error } = await runner.ask<{ failed: unknown; answer: unknown; error: unknown }>('probe');
    expect(error).toBeUndefined();
    expect(failed).toEqual([]);
    expect(answer).toMatchObject({ 'signal the action': 'closed', "read the action's memory": 'closed' });
  });

  const escape = `trap '' TERM HUP; (setsid nohup sh -c 'trap "" TERM; sleep 987654' >/dev/null 2>&1 &); env -i setsid sh -c 'sleep 987653 & sleep 987652 &' & sleep 0.2`;
  const mark = { mark: 'sleep\0' + '98765' };

  test('leaves nothing of a program that ends, whatever its processes did to hide', async () => {
    await run(escape);
    expect(await runner.ask('end', { graceMs: 0 })).toEqual([]);
    expect(await runner.ask('running', mark)).toBe(0);
  });

  test('asks the processes to end, and kills those that do not', async () => {
    const ready = (name: string): string => join(opened.folders.session, name);
    const asked = await runner.ask('endWhile', {
      script: `exec node -e "process.on('SIGTERM', () => setTimeout(() => { console.log('well'); process.exit(3) }, 50)); setInterval(() => {}, 1000); require('node:fs').writeFileSync('${ready('a')}', '')"`,
      ...{ graceMs: 3_000, ready: ready('a') },
    });
    expect(asked).toMatchObject({ left: [], out: 'well', end: { kind: 'exited', code: 3 } });
    const refusing = { script: `${escape}; touch ${ready('b')}; sleep 987651`, graceMs: 200, ready: ready('b') };
    expect(await runner.ask('endWhile', refusing)).toMatchObject({
      left: [],
      end: { kind: 'signalled', signal: 'SIGKILL' },
    });
    expect(await runner.ask('running', mark)).toBe(0);
    const script = `trap 'echo well; exit 4' TERM; touch ${ready('c')}; sleep 60 & wait`;
    const cancelled = await runner.ask('cancel', { script, ready: ready('c') });
    expect(cancelled).toMatchObject({ out: 'well', end: { kind: 'cancelled' } });
  });

  test('gets a new home and empty temporary folders, whatever was done to the old ones', async () => {
    await run('mkdir -p ~/kept $TMPDIR/a/b && touch $TMPDIR/a/b/c /tmp/d && chmod 0 $TMPDIR/a');
    const first = await runner.ask<string>('refresh');
    await run(`mkdir -p ${first}/a/b && chmod 0 ${first}/a ${first}`);
    const second = await runner.ask<string>('refresh');
    expect(second).toBe(first);
    expect(await runner.ask('exists', { path: second })).toEqual([]);
    expect((await run('ls -A $TMPDIR; ls /tmp/d 2>/dev/null; ls -d ~/kept')).out).toBe(`${opened.folders.home}/kept`);
  });

  test('keeps the conversation when it is closed, and nothing else', async () => {
    const own = freshBase();
    await using other = await startRunner(own);
    const { folders } = await other.ask<Opened>('open');
    await other.ask('run', {
      script: `mkdir -p $HOME/closed/a; chmod 0 $HOME/closed; echo hello > ${folders.session}/said`,
    });
    expect(await other.ask('close')).toEqual({ processes: [], leftovers: [] });
    expect(await other.ask('exists', { path: `${own}/sandboxes` })).toEqual([]);
    expect(await other.ask('exists', { path: `${own}/run` })).toEqual(['agent']);
    expect(await other.ask('exists', { path: `${own}/run/agent` })).toEqual(['said']);
    expect(await other.ask('running', { mark: own })).toBe(0);
  });

  test('ends with a runner that is killed, and what is left is removed later', async () => {
    const own = freshBase();
    const first = await startRunner(own);
    const { folders } = await first.ask<Opened>('open');
    await first.ask('background', { script: `echo x > ${folders.session}/said; sleep 876543` });
    await using later = await startRunner(own);
    while ((await later.ask<readonly string[] | null>('exists', { path: folders.session }))?.length !== 1);
    await first.ask('die');
    await first.ended;
    while ((await later.ask('running', { mark: 'sleep\0' + '876543' })) !== 0);
    expect(await later.ask('remove')).toEqual([]);
    expect(await later.ask('exists', { path: `${own}/sandboxes` })).toEqual([]);
    expect(await later.ask('exists', { path: `${own}/run/agent` })).toEqual(['said']);
    expect(await later.ask('remove')).toEqual([]);
    expect(await later.ask('running', { mark: `${own}/sandboxes` })).toBe(0);
  });

  test.each([
    [
      'does without the filter where the machine refuses it',
      'case "$*" in *apply-seccomp*) echo "apply-seccomp: write /proc/self/setgroups: Permission denied" >&2; exit 1;; esac\nexec BWRAP "$@"',
      { level: 'sandbox' },
    ],
    [
      'is not there where the machine gives no namespaces, and repeats what was said',
      'echo "bwrap: setting up uid map: Permission denied" >&2\nexit 1',
      { why: 'bwrap: setting up uid map: Permission denied' },
    ],
  ])('%s', async (_, script, found) => {
    const own = freshBase();
    await using other = await startRunner(own);
    expect(await other.ask<Opened>('open', { bwrap: `#!/bin/sh\n${script}\n` })).toMatchObject(found);
    if ('level' in found)
      expect((await other.ask<Ran>('run', { script: 'unshare --user true || echo kept' })).out).toBe('kept');
    await other.ask('close');
    expect(await other.ask('exists', { path: `${own}/sandboxes` })).toEqual([]);
    expect(await other.ask('exists', { path: `${own}/run` })).toEqual([]);
  });
});
