const PIPES = 'git itself waits for the pipe until its time is up';

/** Attacks that still come through, by what they do, and why. A row that is closed fails until its line here is gone. */
export const openDoors: Readonly<Record<string, string>> = {
  'makes .gitignore and .gitattributes pipes that nobody writes to': PIPES,
  'makes .git/config, the index and the excludes pipes': PIPES,
  "makes pipes of the files of the action's own repositories and of its record": PIPES,
};
