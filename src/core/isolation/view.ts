/** Something at the top of the machine's file system. */
export interface TopEntry {
  readonly name: string;
  readonly kind: 'folder' | 'link' | 'other';
  /** Where a link leads; empty for what is none. */
  readonly target: string;
}

/** What a room shall see; all paths absolute and real. */
export interface ViewPlan {
  readonly top: readonly TopEntry[];
  /** Mount points of disks; what is mounted elsewhere is not there. */
  readonly disks: readonly string[];
  /** Folders that are there and shall be empty, but for what follows. */
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
  /** Folders of the room itself that it can read, and in which files appear while it is used. */
  readonly handed: readonly string[];
  readonly writable: readonly string[];
  /** Folders that are empty, so that something can be mounted there. */
  readonly places: readonly string[];
  /** Files that stand in the place of the machine's: path → file. */
  readonly replaced: Readonly<Record<string, string>>;
}

/** Links and mounts, in the order in which they are made below the folder that becomes the room's `/`. */
export interface View {
  /** Folders of the machine, each of which the fstab takes from the folder of its number in the stage: nobody writes through a mount there. */
  readonly staged: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** A file in the form of fstab(5). */
  readonly fstab: string;
}

/** Made for the room alone, or left out. */
const OWN_FOLDERS = new Set(['proc', 'sys', 'dev', 'run', 'tmp', 'lost+found']);
/** New and empty; anybody may write in them. */
const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm'];
/** On every machine: what is in them is other people's, or leads to daemons. */
export const HIDDEN_FOLDERS: readonly string[] = [
  '/home',
  '/root',
  '/mnt',
  '/media',
  '/srv',
  '/boot',
  '/var/log',
  '/var/spool',
  '/var/cache',
  '/var/lib/docker',
  '/var/lib/containerd',
  '/var/backups',
];

/** At the top of many machines, whoever owns them: programs and settings, and what is made for a room anyway. */
const OF_THE_SYSTEM = /^(bin|sbin|lib\w*|usr|etc|var|opt|nix|gnu|snap|proc|sys|dev|run|tmp)$/;

/** Folders at the top that are the runner's own, such as a disk for builds: others' work and keys may be in them. None where the runner is root. */
export function runnersFolders(
  top: readonly (Pick<TopEntry, 'name' | 'kind'> & { readonly uid: number })[],
  runner: number,
): readonly string[] {
  if (runner === 0) return [];
  return top
    .filter(({ name, kind, uid }) => kind === 'folder' && uid === runner && !OF_THE_SYSTEM.test(name))
    .map(({ name }) => `/${name}`);
}

/** The folder at the top in which a path lies, unless it is one of the system: that of a runner has its other checkouts, also where root runs it. None where the path is at the top itself. */
export function topFolderOf(path: string): readonly string[] {
  const [, name = '', ...rest] = path.split('/');
  return rest.length === 0 || OF_THE_SYSTEM.test(name) || ['home', 'root'].includes(name) ? [] : [`/${name}`];
}

/** Everything of the machine read-only but for what is named, hidden, or made new. `root`: the folder that becomes `/`; `stage`: see `View`. */
export function viewOf(plan: ViewPlan, { root, stage }: { readonly root: string; readonly stage: string }): View {
  const folders = plan.top.filter(({ name, kind }) => kind === 'folder' && !OWN_FOLDERS.has(name));
  const shown = folders.map(({ name }) => `/${name}`);
  // A temporary folder is new: only what is bound into it has anything to hide.
  const isThere = (path: string): boolean =>
    TEMPORARY.some((folder) => isWithin(path, folder))
      ? plan.readOnly.some((folder) => path !== folder && isWithin(path, folder))
      : shown.some((folder) => isWithin(path, folder));
  const mounts: Mount[] = [
    ...shown.map((path) => bind(path, 'ro')),
    ...plan.disks
      .filter((path) => path !== '/' && !shown.includes(path) && shown.some((folder) => isWithin(path, folder)))
      .filter((path) => !plan.hidden.some((folder) => isWithin(path, folder)))
      .map((path) => bind(path, 'ro')),
    // No daemon has a socket there, and its owners cannot be mapped.
    { ...bind('/sys', 'ro'), isStaged: false },
    ...plan.hidden.filter(isThere).map((path) => empty(path, '755')),
    ...TEMPORARY.map((path) => empty(path, '1777')),
    ...['/dev', '/run'].map((path) => empty(path, '755')),
    ...plan.readOnly.map((path) => bind(path, 'ro')),
    ...plan.handed.map((path) => ({ ...bind(path, 'ro'), isStaged: false })),
    ...plan.places.map((path) => empty(path, '755')),
    ...plan.writable.map((path) => bind(path, 'rw')),
    ...Object.entries(plan.replaced).map(([path, source]): Mount => ({
      kind: 'bind',
      path,
      source,
      access: 'ro',
      isStaged: false,
    })),
  ];
  const ordered = inOrder(mounts);
  const staged = ordered.flatMap((mount) => (mount.kind === 'bind' && mount.isStaged ? [mount.source] : []));
  const placed = ordered.map((mount) =>
    mount.kind === 'bind' && mount.isStaged
      ? { ...mount, source: `${stage}/${String(staged.indexOf(mount.source))}` }
      : mount,
  );
  return {
    staged,
    links: plan.top
      .filter(({ name, kind }) => kind === 'link' && !OWN_FOLDERS.has(name))
      .map(({ name, target }) => ({ path: `${root}/${name}`, target })),
    fstab: placed.map((mount) => `${lineOf(mount, root)}\n`).join(''),
  };
}

type Mount =
  | {
      readonly kind: 'bind';
      readonly path: string;
      readonly source: string;
      readonly access: 'ro' | 'rw';
      readonly isStaged: boolean;
    }
  | { readonly kind: 'empty'; readonly path: string; readonly mode: string };

function bind(path: string, access: 'ro' | 'rw'): Extract<Mount, { kind: 'bind' }> {
  return { kind: 'bind', path, source: path, access, isStaged: access === 'ro' };
}

function empty(path: string, mode: string): Mount {
  return { kind: 'empty', path, mode };
}

/** What lies deeper comes later, and of two mounts in one place the one that was named later is on top. */
function inOrder(mounts: readonly Mount[]): readonly Mount[] {
  const depth = (path: string): number => path.split('/').length;
  const last = new Map(mounts.map((mount) => [mount.path, mount]));
  return [...last.values()].sort((one, other) => depth(one.path) - depth(other.path));
}

function lineOf(mount: Mount, root: string): string {
  const target = escaped(root + mount.path);
  if (mount.kind === 'bind')
    return `${escaped(mount.source)} ${target} none bind,${mount.access},nosuid,nodev,X-mount.mkdir=0755 0 0`;
  // Devices are made in /dev, and nowhere else.
  const devices = mount.path === '/dev' ? '' : 'nodev,';
  return `ralph ${target} tmpfs mode=${mount.mode},nosuid,${devices}X-mount.mkdir=0755 0 0`;
}

/** Whether `path` is `folder` or in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

/** As fstab(5) wants it. */
function escaped(path: string): string {
  return path.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/** File systems of disks and the like, whose mounts belong to the machine's files. */
const DISK_TYPES = /^(ext[234]|xfs|btrfs|zfs|f2fs|overlay|squashfs|erofs|bcachefs|virtiofs|9p|nfs4?|fuse\.\w+)$/;

/** Mount points of disks, as `/proc/self/mountinfo` names them. */
export function disksIn(mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const path = before.split(' ')[4];
    return path !== undefined && DISK_TYPES.test(after.split(' ')[0] ?? '') ? [unescaped(path)] : [];
  });
}

/** Whether no program may be started from a place, as `/proc/self/mountinfo` says of the mount that it is on. */
export function forbidsPrograms(path: string, mountinfo: string): boolean {
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, , , , place, options = ''] = line.split(' ');
    return place !== undefined && isWithin(path, unescaped(place)) ? [{ place: unescaped(place), options }] : [];
  });
  // The last of several mounts at one place is the visible one.
  const deepest = Math.max(0, ...mounts.map(({ place }) => place.length));
  const on = mounts.findLast(({ place }) => place.length === deepest);
  return on?.options.split(',').includes('noexec') === true;
}

/** Sockets of the machine at which somebody listens, as `/proc/net/unix` names them, but for those in folders that every room has of its own; at most a hundred. */
export function shownSockets(sockets: string): readonly string[] {
  const paths = sockets.split('\n').flatMap((line) => {
    const [, flags = '', path = ''] = /^\S+: \w+ \w+ (\w+) \w+ \w+ +\d+ (\/.*)$/.exec(line) ?? [];
    const isListening = (Number.parseInt(flags, 16) & ACCEPTS_CONNECTIONS) !== 0;
    const isOwn = [...TEMPORARY, '/dev', '/run', '/var/run'].some((folder) => isWithin(path, folder));
    return isListening && !isOwn ? [path] : [];
  });
  return [...new Set(paths)].slice(0, 100);
}

const ACCEPTS_CONNECTIONS = 0x1_0000;

function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
