import{modules as o}from"./24196.shared.js";import{modules as s}from"./9277.shared.js";const t=4196,d=[4196],m={...o,...s};export{t as id,d as ids,m as modules};
