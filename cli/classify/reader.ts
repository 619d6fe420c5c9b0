/** The interface of readers: each is one file that reads one kind of text for `kcover classify`, and one line in `index.ts`. */

import type { Findings } from '../../faults/finding.ts';

export interface Reader {
  /** For people, as the description of its option. */
  readonly describe: string;
  /** Names of formats: the option then takes one of them, and the file is an argument (`--tool nvidia-smi out.csv`). */
  readonly formats?: readonly string[];
  /** `format`: one of `formats`. Throws `KcoverError` (`file.unreadable`) when the text is not what it reads. */
  read(text: string, format: string): Findings;
}
