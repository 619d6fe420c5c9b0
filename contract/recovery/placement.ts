/** Nodes and pods, reduced to what decides where pods fit. */

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
  /** Requests of the pods that stay there. */
  readonly used: Amounts;
  /** Labels of those pods that anti-affinity of the pods to be placed could match. */
  readonly podLabels?: readonly Labels[];
}

/** A group of identical pods. */
export interface PodShape {
  readonly count: number;
  readonly requests: Amounts;
  readonly labels: Labels;
  /** Node selector terms: any term matches when all its requirements do; empty: every node. */
  readonly nodes: readonly (readonly Requirement[])[];
  readonly tolerations: readonly PlacementToleration[];
  /** Anti-affinity: on no node with a pod that matches any of these. */
  readonly apart: readonly (readonly Requirement[])[];
  /** These pods do not scale with the job's size. */
  readonly fixed: boolean;
}

/** Pods of the whole job: its present number, and the least that its kind allows. */
export interface JobSizes {
  readonly now: number;
  readonly least: number;
}

/** Facts about the capacity for one attempt. */
export interface PlacementFacts {
  /** With the pods that stay on them. */
  readonly nodes: readonly NodeCapacity[];
  /** Pods to be placed. */
  readonly shapes: readonly PodShape[];
  /** Missing where the job cannot be resized. */
  readonly sizes?: JobSizes;
}
