import { StatusBadge } from '../components/status-badge.tsx';
import { type AccessView, stateOf } from './view-state.ts';

export const ViewState = ({ view }: { view: AccessView }) => {
  const state = stateOf(view);
  return <StatusBadge label={state} color={state === 'active' ? 'green' : 'gray'} />;
};
