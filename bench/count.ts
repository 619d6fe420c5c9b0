import { InvalidArgumentError } from 'commander';

/** A whole number on the command line. */
export const count =
  (least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < least)
      throw new InvalidArgumentError(`must be a whole number, at least ${least}`);
    return value;
  };
