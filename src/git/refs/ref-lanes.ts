import { isLaneId, type LaneId } from '../../core/tasks/ids.ts';
import type { Unavailable } from '../../ports/state.ts';
import { lastWords } from '../git.ts';
import { parseRefs } from '../remote/remote-answers.ts';
import { createRefNetwork, type RefNetworkOptions } from './ref-network.ts';

const STATES = 'refs/ralph/state/';

/** The lanes that have a state on the server, or a branch that begins with `branchPrefix`, and where all these refs point to; one request. */
export async function listLanes(
  options: RefNetworkOptions,
  branchPrefix: string,
): Promise<{ readonly kind: 'lanes'; readonly lanes: readonly LaneId[]; readonly trace: string } | Unavailable> {
  const network = createRefNetwork(options);
  const starts = [STATES, `refs/heads/${branchPrefix}`];
  return network.operation(async (remote) => {
    const listed = await remote.ask('ls-remote', ['--quiet', options.url, ...starts.map((start) => `${start}*`)]);
    if (listed.exitCode !== 0) return network.unavailable(lastWords(listed.stderr));
    const refs = parseRefs(listed.stdout);
    const names = refs.flatMap(({ name }) =>
      starts.flatMap((start) => (name.startsWith(start) ? [name.slice(start.length)] : [])),
    );
    const trace = refs.map(({ name, value }) => `${name} ${value}`).join('\n');
    return { kind: 'lanes', lanes: [...new Set(names.filter(isLaneId))], trace };
  });
}
