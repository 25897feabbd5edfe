/** The most calls that one tRPC request may carry; clients give it to `httpBatchLink` as `maxItems`. */
export const MAX_BATCH_SIZE = 50;
