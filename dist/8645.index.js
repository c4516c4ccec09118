import{modules as o}from"./78645.shared.js";import{modules as s}from"./59572.shared.js";const t=8645,d=[8645],m={...o,...s};export{t as id,d as ids,m as modules};
