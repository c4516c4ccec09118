import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

/** A browser that takes pictures of pages, each in its full height. */
export interface Browser extends AsyncDisposable {
  /** Writes a PNG of an HTML file, rendered at a width in CSS pixels. */
  picture(shot: {
    readonly html: string;
    readonly png: string;
    readonly width: number;
    readonly scheme: 'light' | 'dark';
  }): Promise<void>;
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** Returns the path of the Chromium that `CHROME` names or that is installed, or null if none. */
export function findChromium(environment: Readonly<Record<string, string | undefined>>): string | null {
  if (environment.CHROME !== undefined && environment.CHROME !== '') return environment.CHROME;
  const folders = (environment.PATH ?? '').split(delimiter);
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const ANSWER_WITHIN_MS = 30_000;

/** Starts Chromium without a window. It is driven over two pipes: no port is opened. */
export async function startBrowser(executable: string): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'ralph-pictures-'));
  const args = [
    '--headless=new',
    '--remote-debugging-pipe',
    `--user-data-dir=${profile}`,
    '--no-first-run',
    '--disable-gpu',
    '--disable-extensions',
    '--disable-background-networking',
    '--disable-component-update',
    '--hide-scrollbars',
    '--force-color-profile=srgb',
    // Chromium's own sandbox refuses to run as root; the pages are our own and run no scripts.
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ];
  const browser = spawn(executable, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const ended = new Promise<void>((resolve) => {
    browser.on('close', () => {
      resolve();
    });
  });
  const failed = new Promise<never>((_resolve, reject) => {
    browser.on('error', reject);
    void ended.then(() => {
      reject(new Error(`${executable} ended`));
    });
  });
  failed.catch(() => undefined);
  const dispose = async (): Promise<void> => {
    browser.kill();
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const ask = createClient(browser.stdio[3] as Writable, browser.stdio[4] as Readable, failed);
    const { targetId } = z
      .object({ targetId: z.string() })
      .parse(await ask('Target.createTarget', { url: 'about:blank' }));
    const attached = await ask('Target.attachToTarget', { targetId, flatten: true });
    const { sessionId } = z.object({ sessionId: z.string() }).parse(attached);
    return {
      picture: (shot) => takePicture((method, parameters) => ask(method, parameters, sessionId), shot),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

type Ask = (method: string, parameters: object, sessionId?: string) => Promise<unknown>;

const layoutSchema = z.object({ cssContentSize: z.object({ height: z.number() }) });
const pictureSchema = z.object({ data: z.string() });
const LOADED = `new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))`;

async function takePicture(ask: Ask, { html, png, width, scheme }: Parameters<Browser['picture']>[0]): Promise<void> {
  const size = { width, height: 100, deviceScaleFactor: 1, mobile: width < 500 };
  await ask('Emulation.setDeviceMetricsOverride', size);
  await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  await ask('Page.navigate', { url: pathToFileURL(html).href });
  await ask('Runtime.evaluate', { expression: LOADED, awaitPromise: true });
  const { height } = layoutSchema.parse(await ask('Page.getLayoutMetrics', {})).cssContentSize;
  const clip = { x: 0, y: 0, width, height, scale: 1 };
  const { data } = pictureSchema.parse(await ask('Page.captureScreenshot', { captureBeyondViewport: true, clip }));
  await writeFile(png, Buffer.from(data, 'base64'));
}

const messageSchema = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** Creates a client for Chromium's protocol over its pipes: JSON messages, each ended by a NUL. */
function createClient(toBrowser: Writable, fromBrowser: Readable, failed: Promise<never>): Ask {
  const waiting = new Map<number, (message: z.infer<typeof messageSchema>) => void>();
  let last = 0;
  let received = '';
  fromBrowser.setEncoding('utf8').on('data', (chunk: string) => {
    const messages = (received + chunk).split('\0');
    received = messages.pop() ?? '';
    for (const text of messages) {
      const { data: message } = messageSchema.safeParse(JSON.parse(text));
      // A message without an id is an event, and is ignored.
      if (message?.id !== undefined) waiting.get(message.id)?.(message);
    }
  });
  toBrowser.on('error', () => undefined);
  return async (method, parameters, sessionId) => {
    const id = (last += 1);
    const { promise: answered, resolve } = Promise.withResolvers<z.infer<typeof messageSchema>>();
    waiting.set(id, resolve);
    toBrowser.write(`${JSON.stringify({ id, method, params: parameters, sessionId })}\0`);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new Error(`${method} was not answered.`));
    }, ANSWER_WITHIN_MS);
    try {
      const { result, error } = await Promise.race([answered, failed, late]);
      if (error !== undefined) throw new Error(`${method}: ${error.message}`);
      return result;
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
    }
  };
}
