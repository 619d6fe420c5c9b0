/** What decides where pods find room: nodes and pods, without all that does not matter for that. */

/** Of each resource: `cpu` in thousandths, all others in whole units (`memory` in bytes, `pods` too). */
export type Amounts = Readonly<Record<string, number>>;

export type Labels = Readonly<Record<string, string>>;

export interface PlacementTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** Without a key and with `Exists`: every taint. Without an effect: every effect. */
export interface PlacementToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** One expression of a selector. Operators as in Kubernetes: In, NotIn, Exists, DoesNotExist, Gt, Lt. */
export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeCapacity {
  readonly name: string;
  readonly ready: boolean;
  readonly unschedulable: boolean;
  readonly taints: readonly PlacementTaint[];
  readonly labels: Labels;
  readonly allocatable: Amounts;
  /** What pods that stay there ask for. */
  readonly used: Amounts;
  /** Labels of those of them that pods to be placed could want to keep away from. */
  readonly podLabels?: readonly Labels[];
}

/** Pods that are alike. */
export interface PodShape {
  readonly count: number;
  readonly requests: Amounts;
  readonly labels: Labels;
  /** Any of these, and all requirements of it; empty: every node. */
  readonly nodes: readonly (readonly Requirement[])[];
  readonly tolerations: readonly PlacementToleration[];
  /** On no node with a pod that matches any of these. */
  readonly apart: readonly (readonly Requirement[])[];
  /** A job of another size has them all the same. */
  readonly fixed: boolean;
}

/** Pods of the whole job: as it is, and as few as its kind could be given. */
export interface JobSizes {
  readonly now: number;
  readonly least: number;
}

/** Facts about the room for one attempt. */
export interface PlacementFacts {
  /** With all that stays on them. */
  readonly nodes: readonly NodeCapacity[];
  /** Pods that need room. */
  readonly shapes: readonly PodShape[];
  /** Missing where the job cannot be given another size. */
  readonly sizes?: JobSizes;
}
