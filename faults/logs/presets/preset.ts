/** The interface of presets: each is one file that describes the log of a family of trainers, as data, and one line in `index.ts`. */

/**
 * A pattern for the part of a line that begins with `from`; where that is empty, for the whole line. It is anchored at the start, so its time is
 * in proportion to the length of the line.
 */
export interface LinePattern {
  readonly from: string;
  readonly pattern: RegExp;
}

export interface Preset {
  /** For people: whose log it is. */
  readonly describe: string;
  /**
   * A finished step, with the named groups `step` and, where the line has them, `total`, or `epoch`, `epochs` and `total` where steps are counted
   * anew in each epoch, which is numbered from `firstEpoch`.
   */
  readonly step: LinePattern;
  readonly firstEpoch?: 0 | 1;
  /** More of a step's line: the groups `step` (instead of the other), `ms`, `seconds` or `perSecond`. */
  readonly more?: readonly LinePattern[];
  /** The number of steps in all, announced before the first: group `total`. */
  readonly announced?: LinePattern;
  /** Lines like its own are in the logs of other trainers too, so for `auto` a step that another preset finds counts more. */
  readonly yields?: true;
  /** Other loops print the same kind of line: only steps of the training's own `total` count. */
  readonly hasOtherLoops?: true;
  /** Saving begins, with the group `step` where the line has it. */
  readonly saving?: readonly LinePattern[];
  /** The same, where the trainer makes no step before the checkpoint is complete: the next step proves that it is. */
  readonly savingBetweenSteps?: readonly LinePattern[];
  /** A checkpoint is complete, with the group `step` where the line has it; otherwise it is that of the last step before. */
  readonly saved?: readonly LinePattern[];
  readonly evaluating?: readonly LinePattern[];
  readonly compiling?: readonly LinePattern[];
  /** Another phase is over, before the next step says so. */
  readonly training?: readonly LinePattern[];
}
