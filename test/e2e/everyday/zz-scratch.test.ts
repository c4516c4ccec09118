import { cpSync, rmSync } from 'node:fs';
import { test } from 'vitest';
import { createScene } from '../e2e-fixture.ts';
test('scratch', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  scene.openIssue('Greet');
  const inputs = { verify: 'true', 'max-iterations': '2', settings: 'receipts: true' };
  await scene.run({ inputs });
  const last = await scene.run({ inputs });
  rmSync('/tmp/proof38/play', { recursive: true, force: true });
  cpSync(scene.testbed.remote.repositoryFolder, '/tmp/proof38/play/remote.git', { recursive: true });
  cpSync(last.outputs['receipt-path'] ?? '', '/tmp/proof38/play/receipt.json.gz');
  console.log(last.outputs, scene.pullOf('ralph/queue').number);
}, 120000);
