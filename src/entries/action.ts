/** The bundle's entries. Each loads only what it needs, so that a run that ends in the gate starts fast. */
export async function main(): Promise<void> {
  const { runMain } = await import('./main.ts');
  await runMain();
}

/** Finishes what a killed or cancelled main could not. */
export async function post(): Promise<void> {
  const { runPost } = await import('./post.ts');
  await runPost();
}

/** The command `ralph`; `packageRoot` is the folder of action.yml and templates/. */
export async function cli(packageRoot: URL): Promise<void> {
  const { runCli } = await import('./cli.ts');
  await runCli(packageRoot);
}

/** One cache operation in a process of its own. */
export async function cacheWorker(): Promise<void> {
  const { cacheWorkerProcess } = await import('../state/cache-worker.ts');
  await cacheWorkerProcess(process.argv.at(-1) ?? '');
}

/** What this program does in the room of the agent, in a process of its own. `load`: Node's own `import`; in the bundle that word means the bundler's. */
export async function roomWorker(load: (url: string) => Promise<unknown>): Promise<void> {
  const { runRoomWorker } = await import('./room-worker.ts');
  await runRoomWorker(process.argv.slice(2), load);
}
