/** An entry at the top of the machine's file system. */
export interface TopEntry {
  readonly name: string;
  readonly kind: 'folder' | 'link' | 'other';
  /** Target of a link; empty for other kinds. */
  readonly target: string;
}

/** The planned content of a sandbox's file system; all paths are absolute and free of links. */
export interface ViewPlan {
  readonly top: readonly TopEntry[];
  /** Mount points of disks; other mounts do not appear in the sandbox. */
  readonly disks: readonly string[];
  /** Folders that appear empty except for paths that a later field mounts in them. */
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
  /** The sandbox's own read-only folders, in which files appear while the sandbox is in use. */
  readonly handed: readonly string[];
  readonly writable: readonly string[];
  /** Folders that are created empty as mount points. */
  readonly places: readonly string[];
  /** Files that replace the machine's: path → file. */
  readonly replaced: Readonly<Record<string, string>>;
}

/** Links and mounts, in the order in which they are made below the folder that becomes the sandbox's `/`. */
export interface SandboxView {
  /**
   * Folders of the machine. The fstab mounts each from the folder that is named after its index in the stage, where no
   * mount is writable.
   */
  readonly staged: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Content of a file in the format of fstab(5). */
  readonly fstab: string;
}

/** Top folders that the sandbox has of its own or does not have at all. */
const OWN_FOLDERS = new Set(['proc', 'sys', 'dev', 'run', 'tmp', 'lost+found']);
/** Folders that are new, empty and writable for everybody. */
const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm'];
/** Folders that are hidden on every machine, because they hold other people's files or sockets of daemons. */
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

/**
 * Matches top folders that are never hidden, regardless of their owner: those with programs and settings, and those
 * that a sandbox has of its own.
 */
const SYSTEM_FOLDERS = /^(bin|sbin|lib\w*|usr|etc|var|opt|nix|gnu|snap|proc|sys|dev|run|tmp)$/;

/**
 * Returns the top folders that the runner owns, such as a build disk. Callers hide them because they may hold other
 * people's work and keys. Returns an empty list if the runner is root.
 */
export function findRunnerFolders(
  top: readonly (Pick<TopEntry, 'name' | 'kind'> & { readonly uid: number })[],
  runner: number,
): readonly string[] {
  if (runner === 0) return [];
  return top
    .filter(({ name, kind, uid }) => kind === 'folder' && uid === runner && !SYSTEM_FOLDERS.test(name))
    .map(({ name }) => `/${name}`);
}

/**
 * Returns the top folder that contains a path. Callers hide it because a runner keeps other checkouts there, even if
 * root runs it. Returns an empty list for system folders and for a path that is itself a top folder.
 */
export function findTopFolder(path: string): readonly string[] {
  const [, name = '', ...rest] = path.split('/');
  return rest.length === 0 || SYSTEM_FOLDERS.test(name) || ['home', 'root'].includes(name) ? [] : [`/${name}`];
}

/**
 * Returns a view of the whole machine, read-only except for the paths that the plan makes writable, hides or replaces.
 * `root` is the folder that becomes `/`; `stage` is explained at `SandboxView`.
 */
export function createSandboxView(
  plan: ViewPlan,
  { root, stage }: { readonly root: string; readonly stage: string },
): SandboxView {
  const folders = plan.top.filter(({ name, kind }) => kind === 'folder' && !OWN_FOLDERS.has(name));
  const shown = folders.map(({ name }) => `/${name}`);
  // A temporary folder starts empty, so only folders that are mounted into it can contain something to hide.
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
    // `/sys` is not staged, because its owners cannot be mapped and it has no sockets of daemons to hide.
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

/** Orders mounts by depth. If several have the same path, the last one wins. */
function inOrder(mounts: readonly Mount[]): readonly Mount[] {
  const depth = (path: string): number => path.split('/').length;
  const last = new Map(mounts.map((mount) => [mount.path, mount]));
  return [...last.values()].sort((one, other) => depth(one.path) - depth(other.path));
}

function lineOf(mount: Mount, root: string): string {
  const target = escaped(root + mount.path);
  if (mount.kind === 'bind')
    return `${escaped(mount.source)} ${target} none bind,${mount.access},nosuid,nodev,X-mount.mkdir=0755 0 0`;
  // Forbid devices everywhere except in /dev, where the sandbox has its own.
  const devices = mount.path === '/dev' ? '' : 'nodev,';
  return `ralph ${target} tmpfs mode=${mount.mode},nosuid,${devices}X-mount.mkdir=0755 0 0`;
}

/** Returns true if `path` is `folder` or inside of it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

/** Escapes a path for fstab(5). */
function escaped(path: string): string {
  return path.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/** Types of disk file systems, whose mounts are part of the machine's files. */
const DISK_TYPES = /^(ext[234]|xfs|btrfs|zfs|f2fs|overlay|squashfs|erofs|bcachefs|virtiofs|9p|nfs4?|fuse\.\w+)$/;

/** Returns the mount points of disks, from `/proc/self/mountinfo`. */
export function parseMountedDisks(mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const path = before.split(' ')[4];
    return path !== undefined && DISK_TYPES.test(after.split(' ')[0] ?? '') ? [unescaped(path)] : [];
  });
}

/** Returns true if the mount that contains a path forbids starting programs, according to `/proc/self/mountinfo`. */
export function forbidsPrograms(path: string, mountinfo: string): boolean {
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, , , , place, options = ''] = line.split(' ');
    return place !== undefined && isWithin(path, unescaped(place)) ? [{ place: unescaped(place), options }] : [];
  });
  // The last of several mounts at one path is the visible one, so it decides.
  const deepest = Math.max(0, ...mounts.map(({ place }) => place.length));
  const on = mounts.findLast(({ place }) => place.length === deepest);
  return on?.options.split(',').includes('noexec') === true;
}

/**
 * Returns the machine's listening sockets from `/proc/net/unix`, at most a hundred. Sockets in folders that each
 * sandbox has of its own are left out.
 */
export function parseListeningSockets(sockets: string): readonly string[] {
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
