/**
 * Starts the main step. Like each entry of the bundle, it loads only what it needs, so that a run that ends in the gate
 * starts fast.
 */
export async function main(): Promise<void> {
  const { runMain } = await import('./main.ts');
  await runMain();
}

/** Starts the post step, which finishes the work of a killed or cancelled main. */
export async function post(): Promise<void> {
  const { runPost } = await import('./post.ts');
  await runPost();
}

/** Starts the command `ralph`; `packageRoot` is the folder of action.yml and templates/. */
export async function cli(packageRoot: URL): Promise<void> {
  const { runCli } = await import('./cli.ts');
  await runCli(packageRoot);
}

/** Runs one cache operation in a separate process. */
export async function cacheWorker(): Promise<void> {
  const { startCacheWorker: cacheWorkerProcess } = await import('../state/cache-worker.ts');
  await cacheWorkerProcess(process.argv.at(-1) ?? '');
}

/**
 * Runs a part of this program in the agent's sandbox, in a separate process. `load` is Node's own `import`, because in
 * the bundle that keyword means the bundler's.
 */
export async function agentSandboxWorker(load: (url: string) => Promise<unknown>): Promise<void> {
  const { runSandboxWorker } = await import('./sandbox-worker.ts');
  await runSandboxWorker(process.argv.slice(2), load);
}
