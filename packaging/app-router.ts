import type {
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server';
import type { resolved } from './procedures.ts';

type Resolved = typeof resolved;
type Procedures = Resolved['procedures'];
type ErrorShape = Resolved['errorShape'];

type ProcedureOf<Call> = Call extends { type: 'query'; input: infer Input; output: infer Output }
  ? TRPCQueryProcedure<{ input: Input; output: Output; meta: object }>
  : Call extends { type: 'mutation'; input: infer Input; output: infer Output }
    ? TRPCMutationProcedure<{ input: Input; output: Output; meta: object }>
    : Call extends { type: 'subscription'; input: infer Input; output: infer Output }
      ? TRPCSubscriptionProcedure<{ input: Input; output: Output; meta: object }>
      : never;

/** An interface, so that compiler errors show its name. */
export interface StewardErrorShape extends ErrorShape {}

/** The router type of the package: inputs and outputs only, without types of the server. */
export type AppRouter = TRPCBuiltRouter<
  { ctx: object; meta: object; errorShape: StewardErrorShape; transformer: true },
  {
    [Noun in keyof Procedures]: {
      [Verb in keyof Procedures[Noun]]: ProcedureOf<Procedures[Noun][Verb]>;
    };
  }
>;
