// ik.js - inverse kinematics of a dragged limb by cyclic coordinate descent (CCD).
import { Quaternion, Vector3 } from 'three';

const SWEEPS = 12;

export function isDescendant(nodes, node, above) {
  for (let n = node; n >= 0; n = nodes[n].parent) if (n === above) return true;
  return false;
}

function jointChildren(nodes, node) {
  return nodes.filter((other) => other.parent === node && other.isJoint).length;
}

// Joints that rotate when a point on `node` is dragged: its ancestors, nearest first, up to the first branch of the
// skeleton (chest, pelvis, palm); the joint itself if there are none.
export function ikChain(nodes, node) {
  const chain = [];
  for (let n = nodes[node].parent; n >= 0 && nodes[n].isJoint && jointChildren(nodes, n) <= 1; n = nodes[n].parent)
    chain.push(n);
  return chain.length > 0 ? chain : [node];
}

// Rotations of the joints of a chain, { node, rotation }, root first, that move `point` (attached to the end of the
// chain) to `target`. `positionOf` returns the position of a joint. Sweeps start at the root, so that all joints
// contribute.
export function solveIk(chain, positionOf, point, target) {
  const joints = chain.slice().reverse(), positions = joints.map((node) => new Vector3(...positionOf(node)));
  const rotations = joints.map(() => new Quaternion()), end = point.clone();
  for (let sweep = 0; sweep < SWEEPS && end.distanceToSquared(target) > 1e-12; sweep++)
    joints.forEach((_, i) => {
      const from = end.clone().sub(positions[i]), to = target.clone().sub(positions[i]);
      if (from.lengthSq() < 1e-12 || to.lengthSq() < 1e-12) return;
      const rotation = new Quaternion().setFromUnitVectors(from.normalize(), to.normalize());
      for (let k = i + 1; k < joints.length; k++)
        positions[k].sub(positions[i]).applyQuaternion(rotation).add(positions[i]);
      end.sub(positions[i]).applyQuaternion(rotation).add(positions[i]);
      for (let k = i; k < joints.length; k++)
        rotations[k].premultiply(rotation); // accumulated world rotation of the joint
    });
  return joints.map(
    (node, i) =>
      ({ node, rotation: i === 0 ? rotations[0] : rotations[i].clone().multiply(rotations[i - 1].clone().invert()) }));
}
