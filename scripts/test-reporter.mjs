// Jest reporter: prints progress during the run: the current file and test, and how many are left.
// Plain JavaScript, because jest loads it itself.

const stillRunningMs = 30_000;

const seconds = (ms) => `${Math.round(ms / 1000)} s`;

/** The tier, which has the name of its configuration. */
const nameOf = (context) => context?.config.displayName?.name ?? 'jest';

export default class ProgressReporter {
  #files = 0;
  #done = 0;
  #begun = Date.now();
  /** Tests that run now, by their full name. */
  #running = new Map();
  #timer;
  #rootDir;

  constructor({ rootDir }) {
    this.#rootDir = rootDir;
  }

  onRunStart({ numTotalTestSuites }) {
    this.#files = numTotalTestSuites;
    this.#timer = setInterval(() => this.#stillRunning(), stillRunningMs);
    this.#timer.unref();
  }

  onTestCaseStart({ path }, { fullName, startedAt }) {
    this.#running.set(`${this.#short(path)}: ${fullName}`, startedAt ?? Date.now());
  }

  onTestCaseResult({ path }, { fullName }) {
    this.#running.delete(`${this.#short(path)}: ${fullName}`);
  }

  onTestResult({ path, context }, { numPassingTests, numFailingTests, perfStats, failureMessage, testExecError }) {
    this.#done += 1;
    const failed = numFailingTests + (testExecError ? 1 : 0);
    const counts = failed > 0 ? `${numPassingTests} passed, ${failed} FAILED` : `${numPassingTests} passed`;
    console.error(
      `[${nameOf(context)} ${this.#done}/${this.#files}] ${this.#short(path)}: ${counts}, ${seconds(perfStats.runtime)}`,
    );
    if (failureMessage) console.error(failureMessage);
  }

  onRunComplete(contexts) {
    clearInterval(this.#timer);
    if (this.#files === 0) return;
    const [context] = contexts;
    console.error(`[${nameOf(context)}] ${this.#done} files in ${seconds(Date.now() - this.#begun)}`);
  }

  /** A slow test is named each time; fast ones are not printed. */
  #stillRunning() {
    for (const [name, since] of this.#running) {
      if (Date.now() - since >= stillRunningMs)
        console.error(`        ${name}: running for ${seconds(Date.now() - since)}`);
    }
  }

  #short(path) {
    return path.startsWith(`${this.#rootDir}/`) ? path.slice(this.#rootDir.length + 1) : path;
  }
}
