import { execFile, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// Starts git for a large process. Starting a program copies the page tables of whoever starts it: for a test with
// hundreds of megabytes that takes ten times longer than git itself, and a job of the sandbox starts git a hundred times.

export interface GitCommand {
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

export interface GitAnswer {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

const server = createServer((question, answer) => {
  if (question.url === '/backend') runBackend(question, answer);
  else void runCommand(question, answer);
});
// Whoever asks may be busy for longer than an idle connection lives.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  console.log(String((server.address() as AddressInfo).port));
});
// Whoever started this one is gone.
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
  // Not every command reads what it is given.
  child.stdin?.on('error', () => undefined).end(input);
}

/** One request through the CGI program that git ships. */
function runBackend(question: IncomingMessage, answer: ServerResponse): void {
  const env = JSON.parse(decodeURIComponent(String(question.headers['x-environment']))) as Record<string, string>;
  const backend = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  question.pipe(backend.stdin);
  // Who asks may be gone before the end.
  question.on('close', () => backend.stdin.end());
  // A request that the backend refuses ends before its body was read.
  backend.stdin.on('error', () => undefined);
  backend.on('error', () => answer.writeHead(500).end('git http-backend could not be started\n'));

  let head = Buffer.alloc(0);
  backend.stdout.on('data', (chunk: Buffer) => {
    if (answer.headersSent) return void answer.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const fields = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(/:\s*/, 2) as [string, string]);
    const status = Number(fields.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
    answer.writeHead(status, Object.fromEntries(fields.filter(([name]) => name !== 'Status')));
    answer.write(head.subarray(end + 4));
  });
  backend.stdout.on('end', () => answer.end());
}
