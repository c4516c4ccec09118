import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  parseMountedDisks,
  forbidsPrograms,
  isWithin,
  findRunnerFolders,
  parseListeningSockets,
  findTopFolder,
  createSandboxView,
  type ViewPlan,
} from '../../../../src/core/isolation/view.ts';

const PLACES = { root: '/new', stage: '/stage' };
const folder = (name: string) => ({ name, kind: 'folder', target: '' }) as const;
const plan: ViewPlan = {
  top: [
    ...['usr', 'etc', 'opt', 'var', 'home', 'root', 'tmp', 'run', 'proc', 'sys', 'dev', 'mnt'].map(folder),
    { name: 'bin', kind: 'link', target: 'usr/bin' },
    { name: 'swapfile', kind: 'other', target: '' },
  ],
  disks: ['/', '/opt/cache', '/boot/efi'],
  hidden: ['/home', '/root', '/mnt', '/home/runner', '/home/runner/work'],
  readOnly: ['/home/runner/node'],
  handed: ['/var/tmp/sandbox/inbox'],
  writable: ['/var/tmp/sandbox/home'],
  places: ['/home/runner/work/shop/shop'],
  replaced: { '/etc/passwd': '/var/tmp/sandbox/inbox/passwd' },
};

test.each([
  { name: 'data', kind: 'folder', uid: 1001, hidden: true },
  { name: 'build', kind: 'folder', uid: 1001, hidden: true },
  { name: 'srv2', kind: 'folder', uid: 0, hidden: false },
  { name: 'other', kind: 'folder', uid: 1002, hidden: false },
  { name: 'link', kind: 'link', uid: 1001, hidden: false },
  { name: 'file', kind: 'other', uid: 1001, hidden: false },
  // Folders of an image whose files all belong to one user, or of a package store.
  ...['usr', 'opt', 'lib64', 'nix', 'var', 'tmp'].map(
    (name) => ({ name, kind: 'folder', uid: 1001, hidden: false }) as const,
  ),
] as const)('of the runner /$name ($kind, $uid) is hidden: $hidden', ({ hidden, ...entry }) => {
  expect(findRunnerFolders([entry], 1001)).toEqual(hidden ? [`/${entry.name}`] : []);
  expect(findRunnerFolders([entry], 0)).toEqual([]);
});

test('of a hidden folder at the top, the checkout and a tool in it are there, also where they are that folder', () => {
  const given = { ...plan, top: [...plan.top, folder('data'), folder('build')], hidden: ['/data', '/build'] };
  const shown = { ...given, readOnly: ['/data/tool'], writable: ['/data/work/shop', '/build'] };
  expect(coverOf('/data/keys', shown)).toMatch(/^mode=755,/);
  expect(coverOf('/data/tool/bin', shown)).toMatch(/^bind,ro,/);
  expect(coverOf('/data/work/shop/src', shown)).toMatch(/^bind,rw,/);
  expect(coverOf('/build/src', shown)).toMatch(/^bind,rw,/);
});

test.each([
  ['in a tool of a temporary folder a hidden folder is empty', '/tmp/tool/home/.cache/keys', /^mode=755,/],
  ['and the rest of the tool is there', '/tmp/tool/bin', /^bind,ro,/],
  ['what is hidden elsewhere in it is not even there', '/tmp/other/keys', /^mode=1777,/],
])('%s: %s', (_, path, options) => {
  const given = { ...plan, hidden: ['/tmp/tool/home/.cache', '/tmp/other'], readOnly: ['/tmp/tool'] };
  expect(coverOf(path, given)).toMatch(options);
});

/** Returns each mount as `[source, place, options]`, in order. */
function mountsOf(given: ViewPlan): readonly (readonly [string, string, string])[] {
  return createSandboxView(given, PLACES)
    .fstab.trim()
    .split('\n')
    .map((line) => {
      const [source = '', target = '', , options = ''] = line.split(' ');
      return [source, target.slice('/new'.length), options] as const;
    });
}

/** Returns the mount that covers a path in the agent's sandbox. */
function coverOf(path: string, given = plan): string | undefined {
  return mountsOf(given).findLast(([, place]) => isWithin(path, place))?.[2];
}

describe('viewOf()', () => {
  test.each([
    ['/usr/local/bin', 'bind,ro'],
    ['/opt/hostedtoolcache', 'bind,ro'],
    ['/opt/cache/x', 'bind,ro'],
    ['/etc/ssl', 'bind,ro'],
    ['/etc/passwd', 'bind,ro'],
    ['/home/runner/.ssh', 'mode=755'],
    ['/home/runner/work/other/other', 'mode=755'],
    ['/home/runner/work/shop/shop/src', 'mode=755'],
    ['/home/runner/node/bin', 'bind,ro'],
    ['/var/tmp/sandbox/home', 'bind,rw'],
    ['/var/tmp/sandbox/inbox', 'bind,ro'],
    ['/var/tmp/sandbox/root', 'mode=1777'],
    ['/root/.ssh', 'mode=755'],
    ['/tmp/x', 'mode=1777'],
    ['/run/docker.sock', 'mode=755'],
    ['/dev/kmsg', 'mode=755'],
  ])('%s is %s', (path, options) => {
    expect(coverOf(path)).toMatch(new RegExp(`^${options},`));
  });

  test('links at the top are made again, and what is neither folder nor link is not there', () => {
    const { links, fstab } = createSandboxView(plan, PLACES);
    expect(links).toEqual([{ path: '/new/bin', target: 'usr/bin' }]);
    expect(fstab).not.toContain('swapfile');
  });

  test('nothing may be set-uid, and devices are in /dev alone', () => {
    for (const [, place, options] of mountsOf(plan)) {
      expect(options).toContain('nosuid');
      expect(options.split(',').includes('nodev')).toBe(place !== '/dev');
    }
  });

  test('only what is named is writable, whatever else is there', () => {
    const name = fc.stringMatching(/^[a-z]{1,6}$/);
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
    fc.assert(
      fc.property(fc.array(path), fc.array(path), fc.array(path), (hidden, readOnly, writable) => {
        const mounts = mountsOf({ ...plan, hidden, readOnly, writable, replaced: {} });
        const open = mounts.filter(([, , options]) => options.startsWith('bind,rw')).map(([, place]) => place);
        expect(new Set(open)).toEqual(new Set(writable));
        const depths = mounts.map(([, place]) => place.split('/').length);
        expect(depths).toEqual([...depths].sort((one, other) => one - other));
      }),
    );
  });

  test('a path with blanks or a backslash is one field of a line', () => {
    const { fstab } = createSandboxView({ ...plan, writable: ['/home/a b\tc\\d#e'] }, PLACES);
    expect(fstab).toContain('/home/a\\040b\\011c\\134d\\043e /new/home/a\\040b\\011c\\134d\\043e none bind,rw');
  });
});

test('parseMountedDisks() knows the mounts of disks, and their escapes', () => {
  const mountinfo = [
    '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
    '23 22 0:21 / /proc rw - proc proc rw',
    '24 22 8:2 / /data\\040disk rw shared:1 - xfs /dev/sdb rw',
    '25 22 0:30 / /run rw - tmpfs tmpfs rw',
    '',
  ].join('\n');
  expect(parseMountedDisks(mountinfo)).toEqual(['/', '/data disk']);
});

test.each([
  ['/data/ci/_work', ['/data']],
  ['/actions-runner/_work', ['/actions-runner']],
  ['/opt/ci/_work', []],
  ['/var/lib/ci/_work', []],
  ['/home/runner/work', []],
  ['/_work', []],
])("of root's runner with its checkouts in %s is hidden: %j", (work, hidden) => {
  expect(findTopFolder(work)).toEqual(hidden);
});

test('disks in hidden folders are not there', () => {
  const given = { ...plan, disks: ['/mnt/other', '/home/other', '/opt/cache'], hidden: ['/mnt', '/home'] };
  expect(coverOf('/mnt/other/x', given)).toMatch(/^mode=755/);
  expect(coverOf('/home/other/x', given)).toMatch(/^mode=755/);
  expect(coverOf('/opt/cache/x', given)).toMatch(/^bind,ro/);
});

test('folders of the machine are taken from the stage, and those of the sandbox are not', () => {
  const { staged } = createSandboxView(plan, PLACES);
  const sources = new Map(mountsOf(plan).map(([source, place]) => [place, source]));
  for (const place of ['/usr', '/etc', '/opt', '/opt/cache', '/home/runner/node'])
    expect(sources.get(place)).toBe(`/stage/${String(staged.indexOf(place))}`);
  for (const place of ['/sys', '/var/tmp/sandbox/inbox', '/var/tmp/sandbox/home'])
    expect(sources.get(place)).toBe(place);
  expect(sources.get('/etc/passwd')).toBe('/var/tmp/sandbox/inbox/passwd');
});

test.each([
  ['/var/tmp', true],
  ['/var/tmp/ralph', true],
  ['/var', false],
  ['/srv/with blank/x', true],
  ['/tmp/x', false],
])('programs may not be started from %s: %s', (path, expected) => {
  const mountinfo = [
    '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
    '23 22 8:1 /a /var/tmp rw,nosuid,noexec - ext4 /dev/sda1 rw',
    '24 22 8:2 / /srv/with\\040blank rw,noexec - xfs /dev/sdb rw',
    '25 22 0:30 / /tmp rw,noexec - tmpfs tmpfs rw',
    '26 25 0:31 / /tmp rw - tmpfs tmpfs rw,noexec',
    '',
  ].join('\n');
  expect(forbidsPrograms(path, mountinfo)).toBe(expected);
});

test('parseListeningSockets() knows those at which somebody listens, outside of what sandboxes have of their own', () => {
  const line = (flags: string, path: string): string =>
    `0000000069f61b6a: 00000002 00000000 ${flags} 0001 01 118855 ${path}`;
  const sockets = [
    'Num       RefCount Protocol Flags    Type St Inode Path',
    line('00010000', '/var/lib/mysql/mysql.sock'),
    line('00010000', '/opt/a b/c'),
    line('00000000', '/opt/connected'),
    line('00010000', '/run/dbus'),
    line('00010000', '@abstract'),
    '0000000069f61b6a: 00000003 00000000 00000000 0001 03 1188559',
    '',
  ].join('\n');
  expect(parseListeningSockets(sockets)).toEqual(['/var/lib/mysql/mysql.sock', '/opt/a b/c']);
});
