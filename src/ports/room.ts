/** A program to start. `environment` is its whole environment. */
export interface RoomProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The tree that the program finds in place of the checkout, if the room can do that; null = none. */
  readonly tree: string | null;
}

/** Folders of a run's room, at the same paths inside and outside. */
export interface RoomFolders {
  /** Home of the room's user, who owns it. */
  readonly home: string;
  /** Folder of the trees that the lane's code runs in. We create each tree and then give it to the room's user. */
  readonly trees: string;
  /** Folder of the agent's conversation; we own it until it is given to the room's user. */
  readonly session: string;
  /** Folder of the files that we hand in; we own it, and it is readable inside. */
  readonly inbox: string;
}

/** The room in which all of the lane's code runs, as a user of its own. It is null without isolation; programs then run as this user. */
export interface Room {
  readonly folders: RoomFolders;
  /** Returns the program to start instead, so that the given one runs in the room; throws a UserError when the room is lost. */
  enter(program: RoomProgram): Promise<Omit<RoomProgram, 'tree'>>;
  /** Returns the path at which a program that is entered with a tree finds it. */
  seenAt(tree: string): string;
  /** Asks every process in the room to end, and kills what is left after `graceMs`; returns descriptions of the processes that survive, as a rule none. */
  end(graceMs: number): Promise<readonly string[]>;
  /** Empties the temporary folders of a room without processes and makes a new home, for a verification that must see nothing of the agent's; returns that home. */
  refresh(): Promise<string>;
  /** Makes the room's user the owner of a folder and of everything in it that we own; links are not followed. */
  give(path: string): Promise<void>;
  /** Takes a folder back, in a room without processes; returns false if it was not given. */
  takeBack(path: string): Promise<boolean>;
}
