import { execFile, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

// A small helper process that starts git commands for a large process. Starting a program copies the page tables of its
// parent: for a test with hundreds of megabytes that takes ten times longer than git itself, and a job of the testbed
// starts git a hundred times.

export interface GitCommand {
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

/** A request to the server of the repository in `folder`. `isList` is set for a request that lists the refs. */
export interface GitService {
  readonly folder: string;
  readonly service: 'git-upload-pack' | 'git-receive-pack';
  readonly isList: boolean;
  readonly env: Readonly<Record<string, string>>;
}

export interface GitAnswer {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

const server = createServer((question, answer) => {
  if (question.url === '/serve') serve(question, answer);
  else void runCommand(question, answer);
});
// No timeout, because the client may be busy for a long time between two requests.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  console.log(String((server.address() as AddressInfo).port));
});
// The helper ends with its parent process.
process.stdin.on('end', () => process.exit()).resume();

async function runCommand(question: IncomingMessage, answer: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of question) chunks.push(chunk as Buffer);
  const { folder, args, env, input } = JSON.parse(Buffer.concat(chunks).toString()) as GitCommand;
  const child = execFile('git', args, { cwd: folder, env, maxBuffer: 2 ** 26 }, (failure, out, error) => {
    const code = failure === null ? 0 : typeof failure.code === 'number' ? failure.code : 1;
    const why = error === '' && failure !== null ? `it could not be started in ${folder}: ${failure.message}` : error;
    answer.end(JSON.stringify({ code, out, error: why } satisfies GitAnswer));
  });
  // Some commands do not read their input.
  child.stdin?.on('error', () => undefined).end(input);
}

/** Answers one request of git's smart HTTP protocol with the program that git runs for its service. */
function serve(question: IncomingMessage, answer: ServerResponse): void {
  const { folder, service, isList, env } = JSON.parse(
    decodeURIComponent(String(question.headers['x-service'])),
  ) as GitService;
  const how = isList ? '--http-backend-info-refs' : '--stateless-rpc';
  const program = spawn('git', [service.replace('git-', ''), how, folder], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const isZipped = question.headers['content-encoding'] === 'gzip';
  // The client may leave early, and a program that refuses may end before it has read everything.
  pipeline(isZipped ? [question, createGunzip(), program.stdin] : [question, program.stdin], () => undefined);
  program.on('error', () => answer.destroy());
  answer.writeHead(200, {
    'Content-Type': `application/x-${service}-${isList ? 'advertisement' : 'result'}`,
    'Cache-Control': 'no-cache',
  });
  // Version 2 of the protocol has no line that names the service.
  if (isList && !/version=[2-9]/.test(env['GIT_PROTOCOL'] ?? '')) {
    const line = `# service=${service}\n`;
    answer.write(`${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`);
  }
  program.stdout.pipe(answer);
}
