import { isLaneId, type LaneId } from '../../core/tasks/ids.ts';
import type { Unavailable } from '../../ports/state.ts';
import { lastWords } from '../git.ts';
import { parseRefs } from '../remote/remote-answers.ts';
import { createRefNetwork, type RefNetworkOptions } from './ref-network.ts';
import { STATE_REF } from './ref-snapshot.ts';

/** The lanes that have a branch which begins with `branchPrefix`, and where these branches and the state point to; one request. */
export async function listBranches(
  options: RefNetworkOptions,
  branchPrefix: string,
): Promise<{ readonly kind: 'lanes'; readonly lanes: readonly LaneId[]; readonly trace: string } | Unavailable> {
  const network = createRefNetwork(options);
  const start = `refs/heads/${branchPrefix}`;
  return network.operation(async (remote) => {
    const listed = await remote.ask('ls-remote', ['--quiet', options.url, STATE_REF, `${start}*`]);
    if (listed.exitCode !== 0) return network.unavailable(lastWords(listed.stderr));
    const refs = parseRefs(listed.stdout);
    const names = refs.flatMap(({ name }) => (name.startsWith(start) ? [name.slice(start.length)] : []));
    const trace = refs.map(({ name, value }) => `${name} ${value}`).join('\n');
    return { kind: 'lanes', lanes: [...new Set(names.filter(isLaneId))], trace };
  });
}
