import { StatusBadge } from '../components/status-badge.tsx';
import { type AccessView, capitalized, stateOf } from './view-state.ts';

export const ViewState = ({ view }: { view: AccessView }) => {
  const state = stateOf(view);
  return <StatusBadge label={capitalized(state)} color={state === 'active' ? 'green' : 'gray'} />;
};
