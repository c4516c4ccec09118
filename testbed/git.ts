import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { GitAnswer, GitCommand, GitService } from './git-starter.ts';

/**
 * Settings for git in small, short-lived repositories: no clean-up, which would be an extra process after each commit,
 * fetch and push.
 */
export const NO_CLEANUP = {
  GIT_CONFIG_COUNT: '3',
  GIT_CONFIG_KEY_0: 'gc.auto',
  GIT_CONFIG_VALUE_0: '0',
  GIT_CONFIG_KEY_1: 'maintenance.auto',
  GIT_CONFIG_VALUE_1: 'false',
  GIT_CONFIG_KEY_2: 'receive.autogc',
  GIT_CONFIG_VALUE_2: 'false',
} as const;

/** Environment for the stand-ins' commits: a fixed author, and none of the machine's git settings. */
export const SAMPLE_ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Sample',
  GIT_AUTHOR_EMAIL: 'sample@example.com',
  GIT_COMMITTER_NAME: 'Sample',
  GIT_COMMITTER_EMAIL: 'sample@example.com',
  ...NO_CLEANUP,
} as const;

/** Runs git in `folder` and returns its output without trailing white space; throws with git's message on failure. */
export async function git(
  folder: string,
  args: readonly string[],
  {
    env = SAMPLE_ENVIRONMENT,
    input = '',
  }: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<string> {
  const command: GitCommand = { folder, args, env, input };
  const question = request({ ...(await starter()), method: 'POST', path: '/run' });
  question.end(JSON.stringify(command));
  const [answer] = (await once(question, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const { code, out, error } = JSON.parse(Buffer.concat(chunks).toString()) as GitAnswer;
  if (code !== 0) throw new Error(`git ${args.join(' ')} exited with code ${String(code)}: ${error}`);
  return out.trimEnd();
}

/** Answers a request with git's own server for a repository. */
export async function passToService(
  service: GitService,
  question: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const encoding = question.headers['content-encoding'];
  const passed = request(
    {
      ...(await starter()),
      method: 'POST',
      path: '/serve',
      headers: {
        'x-service': encodeURIComponent(JSON.stringify(service)),
        ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
      },
    },
    (reply) => {
      answer.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(answer);
      reply.on('error', () => answer.destroy());
    },
  );
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  question.pipe(passed);
}

/** The address of the helper process that starts git for this process; it ends with this process. */
let starting: Promise<{ readonly host: string; readonly port: number }> | null = null;

function starter(): NonNullable<typeof starting> {
  return (starting ??= start());
}

async function start(): NonNullable<typeof starting> {
  const script = fileURLToPath(new URL('git-starter.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise<number>((listening, failed) => {
    createInterface({ input: child.stdout }).once('line', (line) => {
      listening(Number(line));
    });
    child.once('error', failed).once('exit', (code) => {
      starting = null;
      failed(new Error(`The process that starts git exited with code ${String(code)}.`));
    });
  });
  // The helper must not keep this process alive.
  child.unref();
  for (const stream of [child.stdin, child.stdout]) if (stream instanceof Socket) stream.unref();
  return { host: '127.0.0.1', port };
}
