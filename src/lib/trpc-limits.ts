/** Calls per tRPC request; clients pass it to `httpBatchLink` as `maxItems`. */
export const MAX_BATCH_SIZE = 50;
