// chain.js - a limb that follows the pointer: which joints turn, and how (cyclic coordinate descent).
import { Quaternion, Vector3 } from 'three';

const SWEEPS = 12;

export function isBelow(nodes, node, above) {
  for (let n = node; n >= 0; n = nodes[n].parent) if (n === above) return true;
  return false;
}

function jointChildren(nodes, node) {
  return nodes.filter((other) => other.parent === node && other.isJoint).length;
}

// Joints that turn when a place on `node` is pulled, from the nearest up: those above it as far as the limb goes, which ends
// where the skeleton branches (a chest, a pelvis, a palm). With nothing above it the joint turns itself.
export function chainOf(nodes, node) {
  const chain = [];
  for (let n = nodes[node].parent; n >= 0 && nodes[n].isJoint && jointChildren(nodes, n) <= 1; n = nodes[n].parent) chain.push(n);
  return chain.length > 0 ? chain : [node];
}

// Turns of the chain's joints, { node, turn }, root first, that take `point`, which moves with the chain, towards `target`. `placeOf`
// gives where a joint is now. The joints near the root do as much as those at the end: each sweep starts there.
export function reach(chain, placeOf, point, target) {
  const joints = chain.slice().reverse(), places = joints.map((node) => new Vector3(...placeOf(node)));
  const turns = joints.map(() => new Quaternion()), end = point.clone();
  for (let sweep = 0; sweep < SWEEPS && end.distanceToSquared(target) > 1e-12; sweep++)
    joints.forEach((_, i) => {
      const from = end.clone().sub(places[i]), to = target.clone().sub(places[i]);
      if (from.lengthSq() < 1e-12 || to.lengthSq() < 1e-12) return;
      const turn = new Quaternion().setFromUnitVectors(from.normalize(), to.normalize());
      for (let k = i + 1; k < joints.length; k++) places[k].sub(places[i]).applyQuaternion(turn).add(places[i]);
      end.sub(places[i]).applyQuaternion(turn).add(places[i]);
      for (let k = i; k < joints.length; k++) turns[k].premultiply(turn); // the whole turn of the joint in the world
    });
  return joints.map((node, i) => ({ node, turn: i === 0 ? turns[0] : turns[i].clone().multiply(turns[i - 1].clone().invert()) }));
}
