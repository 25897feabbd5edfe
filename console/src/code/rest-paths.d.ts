/** Made by `vite.config.ts` from the OpenAPI document. */
declare module 'virtual:rest-paths' {
  /** The REST path of each query, with its parameters in braces. */
  const paths: Record<string, string | undefined>;
  export default paths;
}
