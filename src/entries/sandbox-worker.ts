/**
 * Runs one job in the sandbox: `listen PORT…`, or `probe`, `tree` or `sandbox`, whose request comes on standard input.
 * `load` is Node's own `import`, for a library that is not part of this program.
 */
export async function runSandboxWorker(
  [work = '', ...args]: readonly string[],
  load: (url: string) => Promise<unknown>,
): Promise<void> {
  switch (work) {
    case 'sandbox': {
      const { runRuntimeWorker: runtimeWorker } = await import('../isolation/rootless/runtime-worker.ts');
      await runtimeWorker(load);
      return;
    }
    case 'listen': {
      const { listenForParent } = await import('../isolation/namespaces/launch.ts');
      await listenForParent(args.map(Number));
      return;
    }
    case 'probe': {
      const [{ OPEN_AT_START, probeSandbox }, { collectOutput }, { text }] = await Promise.all([
        import('../isolation/probe.ts'),
        import('../processes/collect-output.ts'),
        import('node:stream/consumers'),
      ]);
      // Only the action sends requests, so their shape is known.
      const request = JSON.parse(await text(process.stdin)) as Parameters<typeof probeSandbox>[0];
      const openAtStart = process.env[OPEN_AT_START] ?? null;
      process.stdout.write(JSON.stringify(await probeSandbox({ ...request, openAtStart }, collectOutput)));
      process.exit(0);
      break;
    }
    case 'tree': {
      const [{ serveWorkTree }, { createWorkFiles }] = await Promise.all([
        import('../git/checkout/tree/worker.ts'),
        import('../runner/workspace-files.ts'),
      ]);
      const { stdin: input, stdout: output, env } = process;
      await serveWorkTree({ input, output, env, filesOf: createWorkFiles });
      process.exit(0);
      break;
    }
    default:
      throw new Error(`This worker knows no "${work}"`);
  }
}
