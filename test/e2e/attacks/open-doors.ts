/**
 * Attacks that succeed if the agent is not isolated and works in the job with the token, by name, each with its line of
 * docs/security.md. A row that no longer succeeds fails until its line is removed here. At `namespace`, in its three
 * jobs and at `user`, none succeeds.
 */
export const openDoors: Readonly<Record<string, string>> = {
  'reads the token in the environment of main and pushes with it': "The environment of the action's process",
  'seals a record with the token, which says that the run ended': "The environment of the action's process",
  'reads the memory of main': "The memory of the action's process",
  'ends the watchdog': 'Signals',
  'puts LD_PRELOAD into GITHUB_ENV and ends main before it could undo it': 'Signals',
  'puts back an older record of the same run, and ends main': 'The record of the run',
  'destroys what waits in the quarantine': "The action's folder in `RUNNER_TEMP`",
  'reads the credentials in the checkout': 'The checkout',
  'adds a line to .bashrc': 'Files of the home folder',
  'replaces a tool in a large folder of the home folder': 'Tools that the verification uses',
  'replaces a tool in a folder of PATH outside of it': 'Tools that the verification uses',
  'leaves a file above the clean clone under a name that nobody knows': 'Tools that the verification uses',
  'leaves a file in a fixed place of the machine': 'Tools that the verification uses',
  'leaves a file where a path in an ignored file of a kind that nobody knows leads': 'Tools that the verification uses',
  'writes into the clean clone without the mark of the run': 'Tools that the verification uses',
  "replaces the runner's Node, where its user can write it": "The runner's Node",
  'changes post.js, and ends main': "The runner's Node",
  "writes into the event, among the runner's own files": "The runner's own files",
  'drops its environment and its session': 'Processes that drop their environment and their session',
};
