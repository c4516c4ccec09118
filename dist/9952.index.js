import{modules as o}from"./29333.shared.js";import{modules as s}from"./89952.shared.js";const t=9952,d=[9952,9333],m={...o,...s};export{t as id,d as ids,m as modules};
