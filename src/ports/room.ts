/** A program as it is started. `environment` is all that it gets. */
export interface RoomProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The tree that the program finds at the checkout's place, where the room can do that; null: none. */
  readonly tree: string | null;
}

/** Folders of a run's room, at the same paths inside and outside. */
export interface RoomFolders {
  /** Home of the room's user, who owns it. */
  readonly home: string;
  /** Holds the trees that the lane's code runs in, each laid by us and then given to the room's user. */
  readonly trees: string;
  /** Where the agent keeps its conversation: ours, until it is given to the room's user. */
  readonly session: string;
  /** What we hand in: ours, readable inside. */
  readonly inbox: string;
}

/**
 * Where everything that runs the lane's code runs, as a user of its own. There is none (`null`) where nothing isolates:
 * then programs run as this user.
 */
export interface Room {
  readonly folders: RoomFolders;
  /** What to start in a program's place, so that it runs in the room; throws a UserError where the room is lost. */
  enter(program: RoomProgram): Promise<Omit<RoomProgram, 'tree'>>;
  /** Where a program that is entered with a tree finds it. */
  seenAt(tree: string): string;
  /** Asks every process in the room to end, and kills what is left after `graceMs`; returns those that live all the same, as words: none. */
  end(graceMs: number): Promise<readonly string[]>;
  /** With nobody in it: empties its temporary folders and makes a new home, for a verification that shall see nothing of the agent's; returns that home. */
  refresh(): Promise<string>;
  /** Makes a folder with all that is in it and is ours the room user's; links are not followed. */
  give(path: string): Promise<void>;
  /** The way back, with nobody in the room; false: it was not given. */
  takeBack(path: string): Promise<boolean>;
}
