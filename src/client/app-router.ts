/** Types alone. The package has them resolved here: see `packaging/`. */
export type { AppRouter } from '../../routers/index.ts';
